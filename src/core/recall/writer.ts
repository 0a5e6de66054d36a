import type { NotedResult, RecallStore } from '../ports/recall.ts';
import type { PackedText, StoreBatch } from '../ports.ts';
import { keptText } from './kept-text.ts';

/** Results of one request that are stored together. Holds what the store needs, and nothing else. */
export interface KeptResults {
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

/** Stores results so that they can be searched. */
export interface ResultSink {
  /** Rejects if they could not be stored; they are then stored with a later request. */
  write(kept: KeptResults): Promise<void>;
}

export interface ResultWriterOptions {
  readonly store: { readonly recall: Pick<RecallStore, 'keep' | 'stored'> };
  /** `false`: only results whose original is already stored (because lines of them were cut) are recorded. */
  readonly keepsAll: boolean;
  /** Compresses a text that is new; absent: the store does that later. */
  readonly pack?: (text: string) => PackedText;
}

/** Stores results on the thread that calls it. */
export class ResultWriter implements ResultSink {
  readonly #options: ResultWriterOptions;

  constructor(options: ResultWriterOptions) {
    this.#options = options;
  }

  async write({ project, task, conversationId, isOwned, atMs, results }: KeptResults): Promise<void> {
    const { store, keepsAll, pack } = this.#options;
    const stored = await store.recall.stored(results.map(({ hash }) => hash));
    const owner = isOwned ? project : undefined;
    const batchOf = (some: readonly KeptResult[], conversation?: string): StoreBatch => {
      const decisions = some.map(({ text, hash, tool }) => {
        return { packed: stored.has(hash) ? undefined : pack?.(text), ...keptText(text, hash, tool) };
      });
      return { decisions, touch: [], conversation, owner };
    };
    const known = results.filter(({ hash }) => stored.has(hash));
    const fresh = keepsAll ? results.filter(({ hash }) => !stored.has(hash)) : [];
    // a stored original counts against the share of the conversation that first stored it
    const originals = [batchOf(known), batchOf(fresh, conversationId)].filter(({ decisions }) => decisions.length > 0);
    await store.recall.keep(
      originals,
      (keepsAll ? results : known).map(({ text, hash: _, ...result }): NotedResult => {
        return { project, task, conversationId, chars: text.length, atMs, ...result };
      }),
    );
  }
}
