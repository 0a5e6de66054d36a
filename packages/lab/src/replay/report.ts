import { table } from 'mcp-pruner/cli/table.ts';
import { CACHED_PRICE } from './cost.ts';
import type { ReplayTotals } from './replay.ts';

/** The result of a replay. Shares are 0..1, or `null` if there was nothing to measure. */
interface ReplayReport extends Readonly<Omit<ReplayTotals, 'continued' | 'stable'>> {
  /** Cost after ÷ cost before, with cached input at 0.1 of the price. */
  readonly costRatio: number | null;
  readonly prefixStable: number | null;
  /** Share of later used lines that were forwarded in their own result. */
  readonly laterUsedKept: number | null;
  /** Share of later used lines that were forwarded in any result. */
  readonly laterUsedVisible: number | null;
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

export function replayReport(totals: ReplayTotals): ReplayReport {
  const { continued, stable, ...sums } = totals;
  const sumOf = (what: 'used' | 'kept' | 'visible'): number =>
    Object.values(totals.uses).reduce((sum, use) => sum + use[what], 0);
  return {
    ...sums,
    billedBefore: Math.round(totals.billedBefore),
    billedAfter: Math.round(totals.billedAfter),
    costRatio: share(totals.billedAfter, totals.billedBefore),
    prefixStable: share(stable, continued),
    laterUsedKept: share(sumOf('kept'), sumOf('used')),
    laterUsedVisible: share(sumOf('visible'), sumOf('used')),
  };
}

function percent(value: number | null): string {
  return value === null ? '-' : `${(value * 100).toFixed(1)} %`;
}

/** Cost of conversations by the price table, as recorded and with cuts. */
export interface ReplayDollars {
  readonly before: number;
  readonly after: number;
  /** Number of requests with estimated usage, because no answer was recorded. */
  readonly estimated: number;
  /** Number of excluded requests, whose models have no price. */
  readonly unpriced: number;
}

/** Formats the report for a terminal. Lines of conversations are only shown with `showLost`. */
export function renderReplay(report: ReplayReport, dollars: ReplayDollars, showLost: boolean): string {
  const { uses } = report;
  const rows = [['', 'before', 'after', 'ratio']];
  const compare = (what: string, before: number, after: number, shown: (figure: number) => string = String): void => {
    rows.push([what, shown(before), shown(after), before === 0 ? '-' : (after / before).toFixed(3)]);
  };
  compare('input tokens', report.tokensBefore, report.tokensAfter);
  compare(`billed with a cache at ${CACHED_PRICE}`, report.billedBefore, report.billedAfter);
  if (dollars.unpriced < report.requests) {
    compare('dollars', dollars.before, dollars.after, (figure) => `$${figure.toFixed(4)}`);
  }
  const used = Object.entries(uses).map(([use, { used, kept, visible }]) => [
    use,
    String(used),
    String(kept),
    percent(share(kept, used)),
    percent(share(visible, used)),
  ]);
  const out = [
    `${report.conversations} conversations, ${report.requests} requests, ${report.prunedMessages} messages pruned` +
      `${report.unreadable > 0 ? `, ${report.unreadable} lines that are not requests` : ''}` +
      `${report.changedByClient > 0 ? `, ${report.changedByClient} requests whose client changed its own history` : ''}`,
    '',
    table(rows),
    ...noteOn(dollars, report.requests),
    '',
    `prefix stable in ${percent(report.prefixStable)} of the requests that continue an earlier one`,
    '',
    `lines of tool results that the conversation used later (${percent(report.laterUsedKept)} kept in their own result,` +
      ` ${percent(report.laterUsedVisible)} in any result):`,
    table([['', 'used', 'kept', 'share', 'visible'], ...used]),
  ];
  if (showLost) {
    for (const { use, at, line } of report.lost) out.push(`  ${use}, message ${at}: ${line.slice(0, 160)}`);
  }
  return `${out.join('\n')}\n`;
}

/** A note on how the dollars were computed. */
function noteOn({ estimated, unpriced }: ReplayDollars, requests: number): string[] {
  if (unpriced >= requests) return ['no dollars: none of these models has a price'];
  const notes = [
    estimated > 0
      ? `the usage of ${estimated} of ${requests} requests is estimated, because no answer was recorded`
      : '',
    unpriced > 0 ? `${unpriced} requests of models without a price are not in the dollars` : '',
  ];
  return notes.filter((note) => note !== '');
}
