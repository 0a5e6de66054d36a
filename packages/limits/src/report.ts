import { difference } from '@mcp-pruner/money/interval.ts';
import { attribute, type Moved, type Reading, type WindowUse } from '@mcp-pruner/money/limits/attribution.ts';
import { UNITS } from '@mcp-pruner/money/limits/read-limits.ts';
import type { Arm } from 'mcp-pruner/core/ports/ledger.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import { usedUpAtMs } from './pace.ts';
import { readArms, readReadings, readSavedRatios } from './readings.ts';
import { type SavedRatios, type SavedShare, savedShare } from './saved.ts';
import type { AccountShown, ConversationShare, HeldOut, LimitsReport, WindowShown } from './shapes.ts';

/** Period over which movements are compared with bills. */
const HISTORY_MS = 14 * 86_400_000;

/** @throws StoreUnavailable */
export async function readLimits(sql: Pick<Rows, 'all'>, nowMs: number): Promise<LimitsReport> {
  const sinceMs = nowMs - HISTORY_MS;
  const [readings, ratios, arms] = await Promise.all([
    readReadings(sql, nowMs, sinceMs),
    readSavedRatios(sql, sinceMs),
    readArms(sql, sinceMs),
  ]);
  return limitsOf(attribute(readings), nowMs, { ratios, arms });
}

export interface Billed {
  readonly ratios: SavedRatios;
  readonly arms: Arms;
}

/**
 * Reports on windows that have not been reset since their last reading.
 *
 * @param windows - of the last two weeks
 */
export function limitsOf(windows: readonly WindowUse[], nowMs: number, billed: Billed | null): LimitsReport {
  const named = groupBy(windows, ({ account, window }) => JSON.stringify([account, window]));
  const current = [...named.values()].flatMap((history) => {
    const window = currentOf(history, nowMs);
    return window ? [{ window, history }] : [];
  });
  const accounts = groupBy(current, ({ window }) => window.account);
  return {
    accounts: Array.from(accounts, ([account, some]): AccountShown => {
      const [first] = some;
      return {
        account,
        provider: first?.window.provider ?? '',
        plan: some.findLast(({ window }) => window.plan !== null)?.window.plan ?? null,
        windows: some
          .map(({ window, history }) =>
            windowShown(window, nowMs, {
              saved: billed && savedShare(window, history, billed.ratios),
              holdout: billed && armsCompared(history, billed.arms),
            }),
          )
          .sort((a, b) => a.minutes - b.minutes || (a.window < b.window ? -1 : 1)),
      };
    }),
  };
}

/** A conversation's share of its account's current windows. @throws StoreUnavailable */
export async function conversationShares(
  sql: Pick<Rows, 'all'>,
  conversation: string,
  nowMs: number,
): Promise<readonly ConversationShare[]> {
  const named = groupBy(attribute(await readReadings(sql, nowMs)), (one) => JSON.stringify([one.account, one.window]));
  const byLength = [...named.values()].sort(([a], [b]) => (a?.minutes ?? 0) - (b?.minutes ?? 0));
  return byLength.flatMap((history) => {
    const window = currentOf(history, nowMs);
    const own = window?.requests.filter(({ reading }) => reading.conversation === conversation) ?? [];
    if (window === undefined || own.length === 0) return [];
    const sum = (of: 'used' | 'shared'): number => own.reduce((all, one) => all + one[of], 0) / UNITS;
    return [{ provider: window.provider, window: window.window, used: sum('used'), shared: sum('shared') }];
  });
}

/** Length of the shortest common window, which is read completely because it may reset during a run. */
const SHORT_WINDOW_MS = 5 * 3_600_000;

/**
 * Usage of account windows by requests, as ratios, including windows that were reset in between.
 *
 * @param sinceMs - arrival time of the first request
 * @throws StoreUnavailable
 */
export async function usedBy(
  sql: Pick<Rows, 'all'>,
  requests: ReadonlySet<string>,
  nowMs: number,
  sinceMs: number,
): Promise<readonly { readonly window: string; readonly used: number }[]> {
  const windows = attribute(await readReadings(sql, nowMs, sinceMs - SHORT_WINDOW_MS));
  const named = new Map<string, number>();
  for (const { window, requests: all } of windows.toSorted((a, b) => a.minutes - b.minutes)) {
    const own = all.filter(({ reading }) => requests.has(reading.request));
    if (own.length === 0) continue;
    named.set(
      window,
      own.reduce((sum, { used }) => sum + used, named.get(window) ?? 0),
    );
  }
  return Array.from(named, ([window, used]) => ({ window, used: used / UNITS }));
}

/** The current window of an account: the most recently read one with a future reset. */
function currentOf(history: readonly WindowUse[], nowMs: number): WindowUse | undefined {
  const open = history.filter(({ resetsS }) => resetsS * 1000 > nowMs);
  return open.reduce<WindowUse | undefined>(
    (newest, one) => (newest === undefined || lastMs(one) >= lastMs(newest) ? one : newest),
    undefined,
  );
}

/** End time of the last request; 0 without requests. */
export function lastMs({ requests }: WindowUse): number {
  return requests.at(-1)?.reading.endedMs ?? 0;
}

function windowShown(
  window: WindowUse,
  nowMs: number,
  { saved, holdout }: { readonly saved: SavedShare | null; readonly holdout: HeldOut | null },
): WindowShown {
  const usedUpMs = usedUpAtMs(window, nowMs);
  const ours = window.requests.filter(({ reading }) => reading.project !== '');
  const sessions = summed(ours, ({ session, project }) => JSON.stringify([session, project]));
  return {
    window: window.window,
    minutes: window.minutes,
    used: window.used / UNITS,
    status: window.status,
    resetsAt: new Date(window.resetsS * 1000).toISOString(),
    pace: { usedUpAt: usedUpMs === null ? null : new Date(usedUpMs).toISOString() },
    elsewhere: window.elsewhere / UNITS,
    sessions: sessions.map(({ of, used, shared }) => ({ session: of.session, project: of.project, used, shared })),
    projects: summed(ours, ({ project }) => project).map(({ of, used }) => ({ project: of.project, used })),
    keys: summed(
      ours.filter(({ reading }) => reading.keyId !== ''),
      ({ keyId }) => keyId,
    ).map(({ of, used }) => ({ key: of.keyId, used })),
    saved: saved && { used: saved.used / UNITS, low: saved.low / UNITS, high: saved.high / UNITS },
    holdout,
  };
}

/** Sums over requests with the same key, largest first. */
function summed(requests: readonly Moved[], keyOf: (reading: Reading) => string) {
  const groups = groupBy(requests, ({ reading }) => keyOf(reading));
  return [...groups.values()]
    .map((some) => ({
      of: (some[0] as Moved).reading,
      used: some.reduce((sum, { used }) => sum + used, 0) / UNITS,
      shared: some.reduce((sum, { shared }) => sum + shared, 0) / UNITS,
    }))
    .sort((a, b) => b.used - a.used);
}

type Arms = ReadonlyMap<string, Arm>;

/**
 * Compares the window usage of conversations with and without cuts.
 *
 * @param history - an account's window over the last two weeks
 * @returns `null` if no conversation was held out
 */
export function armsCompared(history: readonly WindowUse[], arms: Arms): HeldOut | null {
  const used = new Map<string, number>();
  for (const { reading, used: share } of history.flatMap(({ requests }) => requests)) {
    const { conversation } = reading;
    if (reading.project !== '') used.set(conversation, (used.get(conversation) ?? 0) + share / UNITS);
  }
  const of = (arm: Arm): number[] => [...used].flatMap(([name, share]) => (arms.get(name) === arm ? [share] : []));
  const [pruned, control] = [of('pruned'), of('control')];
  if (control.length === 0) return null;
  return { ...difference(pruned, control), conversations: { pruned: pruned.length, control: control.length } };
}
