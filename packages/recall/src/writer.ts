import { type Work, waitFor } from 'mcp-pruner/base/work.ts';
import { keptText } from 'mcp-pruner/core/kept-text.ts';
import type { NotedResult, RecallStore } from 'mcp-pruner/core/ports/recall.ts';
import type { PackedText, StoreBatch } from 'mcp-pruner/core/ports.ts';

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
  readonly store: { readonly recall: Pick<RecallStore, 'keep' | 'stored'> };
  /** If `false`, only results are recorded whose original is already stored (because lines of it were cut). */
  readonly keepsAll: boolean;
  /** Compresses a new text. If absent, the store compresses it later. */
  readonly pack?: (text: string) => Promise<PackedText>;
}

/**
 * Stores results, compressed on the thread pool.
 *
 * @throws StoreUnavailable; the results are then stored with a later request
 */
export function* storeResults(
  { store, keepsAll, pack }: ResultPlace,
  { project, task, conversationId, isOwned, atMs, results }: KeptResults,
): Work<void> {
  const stored = yield* waitFor(store.recall.stored(results.map(({ hash }) => hash)));
  const owner = isOwned ? project : undefined;
  const known = results.filter(({ hash }) => stored.has(hash));
  const fresh = keepsAll ? results.filter(({ hash }) => !stored.has(hash)) : [];
  const packed = pack && fresh.length > 0 ? yield* waitFor(Promise.all(fresh.map(({ text }) => pack(text)))) : [];
  // an existing original counts against the quota of the conversation that first stored it
  const originals: StoreBatch[] = [
    { decisions: known.map(({ text, hash, tool }) => keptText(text, hash, tool)), touch: [], owner },
    {
      decisions: fresh.map(({ text, hash, tool }, i) => ({ packed: packed[i], ...keptText(text, hash, tool) })),
      ...{ touch: [], conversation: conversationId, owner },
    },
  ].filter(({ decisions }) => decisions.length > 0);
  const kept = store.recall.keep(
    originals,
    (keepsAll ? results : known).map(({ text, hash: _, ...result }): NotedResult => {
      return { project, task, conversationId, chars: text.length, atMs, ...result };
    }),
  );
  yield* waitFor(kept);
}
