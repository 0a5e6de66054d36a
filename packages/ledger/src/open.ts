import { readsOwnLengths } from '@mcp-pruner/agents/own-lengths.ts';
import { AvoidedCompactions, LearnedThresholds } from '@mcp-pruner/money/compactions.ts';
import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import type { Context } from 'mcp-pruner/app/context.ts';
import type { LedgerCounters, LedgerGuest } from 'mcp-pruner/app/guest.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { Budgets } from './budgets.ts';
import { readColdFigures } from './cold-stash.ts';
import { Ledger, readReport } from './ledger.ts';
import { readPrefixBreaks } from './prefix-breaks.ts';
import { readSpend } from './spend.ts';

/** Opens the ledger over a store. Logs problems in price files: models of a broken one are counted in tokens only. */
export function openLedger(context: Context, counters: LedgerCounters = {}): LedgerGuest {
  const { settings, store, events, failures, clock, log, behind } = context;
  readsOwnLengths(context.env ?? {});
  const prices = pricesOf(settings);
  for (const problem of prices.problems) log.warn({ reason: 'prices_not_read' }, problem);
  for (const warning of prices.warnings) log.warn({ reason: 'price_key_unknown' }, warning);
  const onFailure = failures.of('ledger');
  const thresholds = new LearnedThresholds(store.compactions, onFailure);
  const avoided = new AvoidedCompactions(thresholds);
  let budgets: Budgets | undefined;
  const ledger = new Ledger({
    store: store.ledger,
    prices,
    clock,
    behind,
    processId: context.ids.uuid(),
    onFailure,
    findPrune: (pruneId) => store.findPrune(pruneId),
    conversationOf: (pruneId) => events.runOf(pruneId),
    onBilled: (turn) => {
      counters.onBilled?.(turn);
      budgets?.add(turn);
      if (avoided.billed(turn)) counters.onCompaction?.('avoided');
    },
    onFolded: atMostHourly(clock, counters.onFolded, (figures) =>
      log.warn({ figures }, 'too many ledger figures for one day: further projects are counted under (others)'),
    ),
  });
  const started = store.ready().then(
    async () => {
      await Promise.all([ledger.start(), thresholds.learn()]);
    },
    (cause: unknown) => onFailure('calibration_not_read', cause),
  );
  return {
    name: 'ledger',
    rows: {},
    ledger,
    started,
    over: ({ store: { ledger: viewed } }) => ({
      async report(query) {
        await ledger.flush();
        return readReport(viewed, query, prices);
      },
      async turns(query) {
        await ledger.flush();
        return viewed.turns(query);
      },
      coldStash: (query) => readColdFigures(viewed, settings.coldStash, query),
      prefixBreaks: (query) => readPrefixBreaks(viewed, query),
      async spend(keys, query) {
        await ledger.flush();
        return readSpend(viewed, keys, query, clock.nowMs());
      },
    }),
    ratesOf(model) {
      const price = prices.of(model, clock.nowMs());
      return price && { read: price.read, write: Math.max(price.write5m, price.input) };
    },
    async budgets(limits) {
      budgets = new Budgets({ store: store.ledger, clock, prices, onFailure, ...limits });
      await budgets.start();
      return budgets;
    },
    async close() {
      budgets?.close();
      await ledger.close();
    },
  };
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
