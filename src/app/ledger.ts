import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/settings.ts';
import type { BulkPruner, Pruner } from '../core/calls/api.ts';
import type { LedgerSink, LedgerTurn } from '../core/ports/ledger.ts';
import type { Clock } from '../core/ports.ts';
import { estimateTokens } from '../engine/text/tokens.ts';
import { AvoidedCompactions } from '../ledger/compactions.ts';
import { Learner } from '../ledger/learning.ts';
import { Ledger, type LedgerOptions } from '../ledger/ledger.ts';
import { inputOf, type PriceSource, Prices, ratesFor } from '../ledger/prices.ts';
import type { Storage } from './storage.ts';

/** Where the table of prices lies that comes with the program: seen from `dist`, `dist/parts` and the sources. */
const PLACES = ['../config/prices.toml', '../../config/prices.toml'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** The prices of the file that the settings name, and behind them those that come with the program. Never throws. */
export function pricesOf({ prices: named }: Pick<Settings, 'prices'>): Prices {
  const own = named === null ? [] : [sourceAt(resolve(named))];
  const builtIn = PLACES.filter((place) => existsSync(place))
    .slice(0, 1)
    .map(sourceAt);
  return new Prices([...own, ...builtIn]);
}

function sourceAt(path: string): PriceSource {
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it cannot be read';
    return { path, unreadable: code === 'ENOENT' ? 'there is no such file' : code };
  }
}

/** Keeps account over a store. A broken file of prices stops nothing: its models then have tokens and no dollars. */
export function openLedger(storage: Storage, counters: LedgerCounters = {}): OpenLedger {
  const { settings, store, events, failures, clock, log } = storage;
  const onFailure = failures.of('ledger');
  const learner = settings.learn ? learnerOver(storage) : null;
  const prices = loggedPrices(storage);
  const avoided = new AvoidedCompactions(store.compactions, onFailure);
  const ledger = new Ledger({
    store: store.ledger,
    prices,
    clock,
    processId: storage.ids.uuid(),
    onFailure,
    findPrune: (pruneId) => store.findPrune(pruneId),
    conversationOf: (pruneId) => events.runOf(pruneId),
    learner: learner ?? undefined,
    ...counters,
    onBilled: (turn, removedHead) => {
      counters.onBilled?.(turn, removedHead);
      counters.onRated?.(turn, frontRate(prices, turn), removedHead);
      if (avoided.billed(turn)) counters.onCompaction?.('avoided');
    },
    onFolded: atMostHourly(clock, counters.onFolded, (figures) =>
      log.warn({ figures }, 'the day has too many figures: those of further projects are added to (others)'),
    ),
  });
  const ledgerStarted = store.ready().then(
    () => ledger.start(),
    (cause: unknown) => onFailure('calibration_not_read', cause),
  );
  return { ledger, learner, ledgerStarted, prices };
}

/** What is counted of bills, for metrics. */
export interface LedgerCounters extends Pick<LedgerOptions, 'onBilled' | 'onFolded'> {
  /** A client compacted a conversation, or was spared it. */
  readonly onCompaction?: (kind: 'seen' | 'avoided') => void;
  /** A request was billed; `rate` is in dollars for a token at its front, where tools stand, and `null` without a price. */
  readonly onRated?: (turn: LedgerTurn, rate: number | null, removedHead: number) => void;
}

/** The front of a request is read from the cache where anything is, and written to it where anything is. */
function frontRate(prices: Prices, turn: LedgerTurn): number | null {
  const price = prices.of(turn.model, turn.atMs, turn.cloud);
  if (price === null) return null;
  const rates = ratesFor(price, inputOf(turn));
  const kind = turn.read > 0 ? 'read' : turn.write1h > 0 ? 'write1h' : turn.write5m > 0 ? 'write5m' : 'input';
  return rates[kind] / 1_000_000;
}

const HOUR_MS = 3_600_000;

/** Counts each call, and logs one of them an hour. */
function atMostHourly(clock: Clock, count: LedgerCounters['onFolded'], log: (figures: number) => void) {
  let loggedMs = Number.NEGATIVE_INFINITY;
  return (figures: number): void => {
    count?.(figures);
    if (clock.nowMs() - loggedMs < HOUR_MS) return;
    loggedMs = clock.nowMs();
    log(figures);
  };
}

/** What the ledger is, and who learns from it; `null` where nobody does. */
export interface OpenLedger {
  readonly ledger: Ledger;
  readonly learner: Learner | null;
  readonly prices: Prices;
  /** Once other processes on the store know of this one. Never rejects. */
  readonly ledgerStarted: Promise<void>;
}

function learnerOver({ store, clock, log, failures }: Storage): Learner {
  return new Learner({
    store: store.ledger,
    clock,
    onFailure: failures.of('ledger'),
    onStep: (step, before) =>
      log.info({ ...step, before }, step.step < before ? 'cuts become milder' : 'cuts become bolder'),
  });
}

/** The prices, with a line in the log for what is broken in their files. */
function loggedPrices({ settings, log }: Pick<Storage, 'settings' | 'log'>): Prices {
  const prices = pricesOf(settings);
  for (const problem of prices.problems) log.warn({ reason: 'prices_not_read' }, problem);
  for (const warning of prices.warnings) log.warn({ reason: 'price_key_unknown' }, warning);
  return prices;
}

/** A pruner that reports recoveries to the ledger: a recovered line was worth keeping. */
export function prunerWithLedger(pruner: Pruner & BulkPruner, ledger: LedgerSink): Pruner & BulkPruner {
  return {
    ...pruner,
    async recover(input) {
      const text = await pruner.recover(input);
      ledger.recovered(input.pruneId, estimateTokens(text));
      return text;
    },
    async recoverAll(inputs) {
      const texts = await pruner.recoverAll(inputs);
      for (const [i, text] of texts.entries()) ledger.recovered(inputs[i]?.pruneId ?? '', estimateTokens(text));
      return texts;
    },
  };
}
