import { type Work, waitFor } from 'mcp-pruner/base/work.ts';
import { keptText } from 'mcp-pruner/core/kept-text.ts';
import type { NotedResult, RecallStore } from 'mcp-pruner/core/ports/recall.ts';
import type { NewDecision, Store, StoreBatch } from 'mcp-pruner/core/ports.ts';

/** Results of one request that are stored together, with everything the store needs. */
interface KeptResults {
  readonly project: string;
  readonly task: string;
  readonly conversationId: string;
  /** Whether originals belong to projects. */
  readonly isOwned: boolean;
  readonly atMs: number;
  readonly results: readonly KeptResult[];
}

export interface KeptResult extends Pick<NotedResult, 'ordinal' | 'pruneId' | 'tool' | 'path' | 'about' | 'call'> {
  readonly text: string;
  /** `textHash` of the text. */
  readonly hash: string;
}

export interface ResultPlace {
  readonly store: Pick<Store, 'pack'> & { readonly recall: Pick<RecallStore, 'keep' | 'stored'> };
  /** If `false`, only results are recorded whose original is already stored (because lines of it were cut). */
  readonly keepsAll: boolean;
}

/**
 * Stores results, compressed if the store takes them so.
 *
 * @throws StoreUnavailable; the results are then stored with a later request
 */
export function* storeResults(
  { store, keepsAll }: ResultPlace,
  { project, task, conversationId, isOwned, atMs, results }: KeptResults,
): Work<void> {
  const stored = yield* waitFor(store.recall.stored(results.map(({ hash }) => hash)));
  const owner = isOwned ? project : undefined;
  const known = results.filter(({ hash }) => stored.has(hash));
  const fresh = keepsAll ? results.filter(({ hash }) => !stored.has(hash)) : [];
  // an existing original counts against the quota of the conversation that first stored it
  const own: StoreBatch = { decisions: fresh.map(toDecision), touch: [], conversation: conversationId, owner };
  const originals = [
    { decisions: known.map(toDecision), touch: [], owner },
    store.pack ? yield* waitFor(store.pack(own)) : own,
  ].filter(({ decisions }) => decisions.length > 0);
  const kept = store.recall.keep(
    originals,
    (keepsAll ? results : known).map(({ text, hash: _, ...result }): NotedResult => {
      return { project, task, conversationId, chars: text.length, atMs, ...result };
    }),
  );
  yield* waitFor(kept);
}

function toDecision({ text, hash, tool }: KeptResult): NewDecision {
  return keptText(text, hash, tool);
}
