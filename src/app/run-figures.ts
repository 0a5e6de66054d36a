import { setTimeout as pause } from 'node:timers/promises';
import type { LedgerStore } from '../core/ports/ledger-store.ts';
import type { RunFigures } from '../core/ports/run-figures.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RunBook } from '../proxy/report/run-book.ts';
import type { OpenPart } from './part.ts';

export interface RunSources {
  readonly book: Pick<RunBook, 'of' | 'ended'>;
  /** Resolves once all ended requests are counted. */
  readonly reported: () => Promise<void>;
  readonly ledger: Pick<Ledger, 'flush'>;
  readonly store: Pick<LedgerStore, 'costOf'>;
  readonly opened: readonly OpenPart[];
}

/** How long the requests of a run may take to end and to be billed, in milliseconds. */
const WAIT_MS = 3_000;
/** Pause between two looks for bills that another process writes, in milliseconds. */
const AGAIN_MS = 200;

/**
 * The figures of a run: what the proxy counted, what its requests cost, and what they used of a subscription's limits.
 *
 * @param waits - for its requests in progress, and for their bills, which another process on the store may write
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
  const ids = [...allIds]; // more may be added meanwhile
  await ledger.flush();
  let cost = await store.costOf(ids);
  while (cost.requests < ids.length && performance.now() < endMs) {
    await pause(AGAIN_MS);
    cost = await store.costOf(ids);
  }
  const limits = await Promise.all(opened.map((one) => one.usedOfLimits?.(ids, sinceMs) ?? []));
  const isPriced = cost.requests === counts.requests && cost.unpriced === 0;
  return {
    ...counts,
    open: inProgress + Math.max(0, ids.length - cost.requests),
    dollars: isPriced ? cost.dollars : null,
    dollarsWithout: isPriced ? cost.dollarsWithout : null,
    limits: limits.flat(),
  };
}

const NOTHING: RunFigures = {
  ...{ requests: 0, failed: 0, open: 0, cuts: 0, tokens: 0, removed: 0, shadow: false, largest: '', conversation: '' },
  ...{ leftWhole: {}, dollars: null, dollarsWithout: null, limits: [] },
};
