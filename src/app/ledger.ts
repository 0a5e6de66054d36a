import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/settings.ts';
import type { BulkPruner, Pruner } from '../core/api.ts';
import type { LedgerSink, LedgerTurn } from '../core/ports/ledger.ts';
import { estimateTokens } from '../engine/text/tokens.ts';
import { UserError } from '../errors.ts';
import { Learner } from '../ledger/learning.ts';
import { Ledger } from '../ledger/ledger.ts';
import { Prices, readPrices } from '../ledger/prices.ts';
import type { Storage } from './storage.ts';

/** Where the table of prices lies that comes with the program: seen from `dist`, `dist/parts` and the sources. */
const PLACES = ['../config/prices.toml', '../../config/prices.toml'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/**
 * The prices that the settings name.
 *
 * @throws UserError when there is a file that is no table of prices, or the one that was named is not there
 */
export function pricesOf({ prices: named }: Pick<Settings, 'prices'>): Prices {
  const path = named === null ? PLACES.find((place) => existsSync(place)) : resolve(named);
  if (path === undefined) return new Prices([]);
  try {
    return readPrices(readFileSync(path, 'utf8'));
  } catch (cause) {
    const why = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : 'it cannot be read';
    throw new UserError(`${path} is no table of prices: ${why}`, { cause });
  }
}

/** Keeps account over a store. A wrong table of prices stops nothing: the ledger then has tokens and no dollars. */
export function openLedger(storage: Storage, onBilled?: (turn: LedgerTurn) => void): OpenLedger {
  const { settings, store, events, failures, clock } = storage;
  const onFailure = failures.of('ledger');
  const learner = settings.learn ? learnerOver(storage) : null;
  const ledger = new Ledger({
    store: store.ledger,
    prices: pricesOrNone(settings, onFailure),
    clock,
    onFailure,
    findPrune: (pruneId) => store.findPrune(pruneId),
    conversationOf: (pruneId) => events.runOf(pruneId),
    ...(learner && { learner }),
    ...(onBilled && { onBilled }),
  });
  void store.ready().then(
    () => ledger.start(),
    (cause: unknown) => onFailure('calibration_not_read', cause),
  );
  return { ledger, learner };
}

/** What the ledger is, and who learns from it; `null` where nobody does. */
export interface OpenLedger {
  readonly ledger: Ledger;
  readonly learner: Learner | null;
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

export function pricesOrNone(settings: Settings, onFailure: (reason: string, cause: unknown) => void): Prices {
  try {
    return pricesOf(settings);
  } catch (cause) {
    onFailure('prices_not_read', cause);
    return new Prices([]);
  }
}

/** A pruner whose recoveries are told to the ledger: a line that is asked back was worth keeping. */
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
