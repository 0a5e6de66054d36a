import type { Clock } from '../core/ports.ts';
import { Ledger, type LedgerOptions } from '../ledger/ledger.ts';
import { AvoidedCompactions, LearnedThresholds } from '../money/compactions.ts';
import { pricesOf } from '../money/installed-prices.ts';
import type { Prices } from '../money/prices.ts';
import type { Context } from './context.ts';
import { readsOwnLengths } from './own-lengths.ts';

/** Opens the ledger over a store. A broken price file is not fatal: its models are counted in tokens only. */
export function openLedger(context: Context, counters: LedgerCounters = {}): OpenLedger {
  const { store, events, failures, clock, log, behind } = context;
  const onFailure = failures.of('ledger');
  const prices = loggedPrices(context);
  readsOwnLengths(context.env ?? {});
  const thresholds = new LearnedThresholds(store.compactions, onFailure);
  const avoided = new AvoidedCompactions(thresholds);
  const ledger = new Ledger({
    store: store.ledger,
    prices,
    clock,
    behind,
    processId: context.ids.uuid(),
    onFailure,
    findPrune: (pruneId) => store.findPrune(pruneId),
    conversationOf: (pruneId) => events.runOf(pruneId),
    ...counters,
    onBilled: (turn) => {
      counters.onBilled?.(turn);
      if (avoided.billed(turn)) counters.onCompaction?.('avoided');
    },
    onFolded: atMostHourly(clock, counters.onFolded, (figures) =>
      log.warn({ figures }, 'too many ledger figures for one day: further projects are counted under (others)'),
    ),
  });
  const ledgerStarted = store.ready().then(
    async () => {
      await Promise.all([ledger.start(), thresholds.learn()]);
    },
    (cause: unknown) => onFailure('calibration_not_read', cause),
  );
  return { ledger, ledgerStarted, prices, thresholds };
}

/** Counters of bills, for metrics. */
export interface LedgerCounters extends Pick<LedgerOptions, 'onBilled' | 'onFolded'> {
  /** Called when a client compacted a conversation, or a compaction was avoided. */
  readonly onCompaction?: (kind: 'seen' | 'avoided') => void;
}

const HOUR_MS = 3_600_000;

/** Counts every call, but logs at most once per hour. */
function atMostHourly(clock: Clock, count: LedgerCounters['onFolded'], log: (figures: number) => void) {
  let loggedMs = Number.NEGATIVE_INFINITY;
  return (figures: number): void => {
    count?.(figures);
    if (clock.nowMs() - loggedMs < HOUR_MS) return;
    loggedMs = clock.nowMs();
    log(figures);
  };
}

interface OpenLedger {
  readonly ledger: Ledger;
  readonly prices: Prices;
  /** Lengths at which clients compact. */
  readonly thresholds: LearnedThresholds;
  /** Settles after the first store write, which announces this process to others. Never rejects. */
  readonly ledgerStarted: Promise<void>;
}

/** Loads the prices, and logs problems in their files. */
function loggedPrices({ settings, log }: Pick<Context, 'settings' | 'log'>): Prices {
  const prices = pricesOf(settings);
  for (const problem of prices.problems) log.warn({ reason: 'prices_not_read' }, problem);
  for (const warning of prices.warnings) log.warn({ reason: 'price_key_unknown' }, warning);
  return prices;
}
