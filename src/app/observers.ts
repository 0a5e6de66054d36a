import { CompactionWatch } from '../core/compactions/watch.ts';
import type { Turns } from '../core/decide/turns.ts';
import { type ObservedRequest, SeenReader } from '../core/seen/reader.ts';
import type { Context } from './context.ts';
import type { Guest, LedgerCounters } from './guest.ts';
import { findSettingsOf } from './pipeline.ts';

/** Observers of requests. */
export interface Observers {
  /** Passes new messages of proxied requests to the observers. */
  readonly seen: SeenReader;
  /** Resolves when the results of all requests so far are stored. Never rejects. */
  readonly flushSeen: () => Promise<void>;
  /** Stores the results of a request that are too short otherwise, so that they can be searched. Never rejects. */
  readonly keepShort: (request: ObservedRequest, conversationId: string) => Promise<void>;
}

export function openObservers(
  context: Context,
  guests: readonly Guest[],
  turns: Turns,
  counters: LedgerCounters | undefined,
): Observers {
  const { settings, store, failures, clock } = context;
  const compactions = new CompactionWatch({
    store: store.compactions,
    clock,
    onSeen: () => counters?.onCompaction?.('seen'),
    onFailure: failures.of('compactions'),
  });
  const seen = new SeenReader({
    find: findSettingsOf(settings),
    observers: [...guests.flatMap(({ sees }) => sees ?? []), compactions],
    turns,
    onFailure: failures.of('segments'),
  });
  const flushSeen = async (): Promise<void> => {
    await seen.flush();
    await Promise.all([...guests.map((guest) => guest.flush?.()), compactions.flush()]);
  };
  const keeper = guests.find(({ name }) => name === 'recall')?.sees;
  const onFailure = failures.of('recall');
  const keepShort: Observers['keepShort'] = async (request, conversationId) => {
    if (keeper === undefined) return;
    await seen.short(request, conversationId, keeper).catch((cause: unknown) => onFailure('results_not_kept', cause));
  };
  return { seen, flushSeen, keepShort };
}
