import { CompactionWatch } from '../core/compactions/watch.ts';
import type { Turns } from '../core/decide/turns.ts';
import type { ColdReports } from '../core/ports/context-gc.ts';
import { ResultKeeper } from '../core/recall/keeper.ts';
import { Recall } from '../core/recall/recall.ts';
import { ResultWriter } from '../core/recall/writer.ts';
import { SeenReader } from '../core/seen/reader.ts';
import { DirectiveBook } from '../core/segments/directive-book.ts';
import { packTextLater } from '../store/text-codec.ts';
import type { Context } from './context.ts';
import type { Guest } from './guest.ts';
import type { LedgerCounters } from './ledger.ts';
import { findSettingsOf } from './pipeline.ts';

/** Observers of requests. */
export interface Observers {
  /** Passes new messages of proxied requests to the observers. */
  readonly seen: SeenReader;
  /** Resolves when the results of all requests so far are stored. Never rejects. */
  readonly flushSeen: () => Promise<void>;
}

export function openObservers(
  context: Context,
  guests: readonly Guest[],
  turns: Turns,
  counters: LedgerCounters | undefined,
): Observers {
  const { settings, store, failures, clock } = context;
  const keeper = openKeeper(context);
  const compactions = new CompactionWatch({
    store: store.compactions,
    clock,
    onSeen: () => counters?.onCompaction?.('seen'),
    onFailure: failures.of('compactions'),
  });
  const seen = new SeenReader({
    find: findSettingsOf(settings),
    observers: [...guests.flatMap(({ sees }) => sees ?? []), keeper, compactions],
    turns,
    onFailure: failures.of('segments'),
  });
  const flushSeen = async (): Promise<void> => {
    await seen.flush();
    await Promise.all([...guests.map((guest) => guest.flush?.()), keeper.flush(), compactions.flush()]);
  };
  return { seen, flushSeen };
}

function openKeeper({ settings, store, failures, clock, behind }: Context): ResultKeeper {
  return new ResultKeeper({
    sink: new ResultWriter({ store, keepsAll: settings.recall === 'on', pack: packTextLater }),
    clock,
    directives: new DirectiveBook(store.segments),
    ttlMs: settings.pruneIdTtlS * 1000,
    behind,
    onFailure: failures.of('recall'),
  });
}

export function openRecall({ store }: Context, flush: () => Promise<void>, cold: ColdReports): Recall {
  const onHits = (pruneIds: readonly string[]): void => cold.recovered(pruneIds);
  return new Recall({ store: store.recall, flush, onHits });
}
