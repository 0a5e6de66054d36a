import { attribute, type Reading } from '@mcp-pruner/money/limits/attribution.ts';
import { UNITS } from '@mcp-pruner/money/limits/read-limits.ts';
import { points } from 'mcp-pruner/base/decimals.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import type { PastLimit } from './past-report.ts';

/** Usage of subscription limits by sessions, per window, from agents' records. */
export function pastLimits(readings: readonly Reading[]): readonly PastLimit[] {
  const inOrder = readings.toSorted((a, b) => a.endedMs - b.endedMs || a.used - b.used);
  const named = groupBy(attribute(inOrder), ({ window }) => window);
  return Array.from(named, ([window, all]) => {
    const requests = all.flatMap((one) => one.requests);
    const sessions = groupBy(requests, ({ reading }) => JSON.stringify([reading.session, reading.project]));
    const shares = [...sessions.values()].flatMap((some) => {
      const [first] = some;
      const used = some.reduce((sum, one) => sum + one.used, 0) / UNITS;
      return first && used > 0 ? [{ session: first.reading.session, project: first.reading.project, used }] : [];
    });
    return {
      window,
      minutes: all[0]?.minutes ?? 0,
      resets: all.length,
      used: requests.reduce((sum, one) => sum + one.used, 0) / UNITS,
      elsewhere: all.reduce((sum, one) => sum + one.elsewhere, 0) / UNITS,
      sessions: shares.sort((a, b) => b.used - a.used),
    };
  }).sort((a, b) => a.minutes - b.minutes);
}

export function limitLines(limits: readonly PastLimit[]): string[] {
  return limits.map(({ window, resets, used, elsewhere, sessions: [most] }) => {
    const whole = resets === 1 ? `one window of ${window}` : `${resets} windows of ${window}`;
    const by = most ? `, most by session ${most.session.slice(0, 8)} of ${most.project} (${points(most.used)} %)` : '';
    return `subscription: ${points(used)} % in ${whole}${by}; elsewhere ${points(elsewhere)} %`;
  });
}
