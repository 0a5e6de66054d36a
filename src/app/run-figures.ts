import { setTimeout as pause } from 'node:timers/promises';
import type { LedgerStore } from '../core/ports/ledger-store.ts';
import type { RunFigures } from '../core/ports/run-figures.ts';
import type { RunBook } from '../proxy/report/run-book.ts';
import { type Guest, memberOf, type OpenLedger } from './guest.ts';

interface RunSources {
  readonly book: Pick<RunBook, 'of' | 'ended'>;
  /** Resolves once all finished requests are counted. */
  readonly reported: () => Promise<void>;
  readonly ledger: Pick<OpenLedger, 'flush'>;
  readonly store: Pick<LedgerStore, 'costOf'>;
  readonly opened: readonly Guest[];
}

/** Maximum time for the requests of a run to end and to be billed, in milliseconds. */
const WAIT_MS = 3_000;
/** Pause between checks for bills written by other processes, in milliseconds. */
const AGAIN_MS = 200;

/**
 * Figures of a run: counts by the proxy, costs of its requests, and their share of subscription limits.
 *
 * @param waits - whether to wait for in-flight requests and their bills, which another process may write
 * @throws StoreUnavailable
 */
export async function figuresOfRun(
  { book, reported, ledger, store, opened }: RunSources,
  run: string,
  waits: boolean,
): Promise<RunFigures> {
  const endMs = performance.now() + (waits ? WAIT_MS : 0);
  if (waits) await book.ended(run, WAIT_MS);
  await reported();
  const counted = book.of(run);
  if (counted === null) return NOTHING;
  const { inProgress, sinceMs, ids: allIds, ...counts } = counted;
  const ids = [...allIds]; // further ids may be added in the meantime
  await ledger.flush();
  let cost = await store.costOf(ids);
  while (cost.requests < ids.length && performance.now() < endMs) {
    await pause(AGAIN_MS);
    cost = await store.costOf(ids);
  }
  const limits = (await memberOf(opened, 'limits')?.usedBy(ids, sinceMs)) ?? [];
  const isPriced = cost.requests === counts.requests && cost.unpriced === 0;
  return {
    ...counts,
    open: inProgress + Math.max(0, ids.length - cost.requests),
    dollars: isPriced ? cost.dollars : null,
    dollarsWithout: isPriced ? cost.dollarsWithout : null,
    limits,
  };
}

const NOTHING: RunFigures = {
  ...{ requests: 0, failed: 0, open: 0, cuts: 0, tokens: 0, removed: 0, shadow: false, largest: '', conversation: '' },
  ...{ leftWhole: {}, dollars: null, dollarsWithout: null, limits: [] },
};
