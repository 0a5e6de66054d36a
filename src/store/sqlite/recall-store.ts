import type { NotedResult, RecallFound, RecallQuery, RecallStore, TaskScope } from '../../core/ports/recall.ts';
import type { Committed, StoreBatch } from '../../core/ports.ts';
import { foundIn, type ScanResult, type SearchedStore, saveFilters, scanIn } from '../recall/find.ts';
import { continuedBy, noteResults, seenIn, storedHashes, withoutRefused } from '../recall/noted.ts';
import { type Sql, type Steps, save } from '../sql/steps.ts';
import { openText } from '../text-codec.ts';
import type { Access } from './access.ts';
import type { ScanThread } from './scan-thread.ts';

const BYTES = { column: 'c.data', join: 'JOIN main.content c ON c.id = s.content' };
/** A search that takes longer on this thread is repeated on a thread of its own, in milliseconds. */
const LONG_MS = 20;

/** `RecallStore` on the tables of a store's file. */
export class FileRecall implements RecallStore {
  readonly #access: Access;
  readonly #sql: Sql;
  readonly #searched: SearchedStore;
  readonly #thread: ScanThread | null;

  /** @param thread - takes long searches; `null` if all take place here */
  constructor(access: Access, sql: Sql, thread: ScanThread | null) {
    this.#access = access;
    this.#sql = sql;
    this.#searched = { rows: sql, bytes: BYTES };
    this.#thread = thread;
  }

  keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void> {
    if (results.length === 0) return Promise.resolve();
    const work = function* (): Steps<void> {
      const committed: Committed[] = [];
      for (const batch of originals) committed.push(yield* save(batch));
      yield* noteResults(withoutRefused(results, originals, committed));
    };
    return this.#sql.write(work, { background: 'recall' });
  }

  stored(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    return storedHashes(this.#access, hashes);
  }

  async find(query: RecallQuery): Promise<RecallFound> {
    return foundIn(this.#sql, (await this.#onThread(query)) ?? (await this.scan(query)));
  }

  /** Searches on this thread. */
  scan(query: RecallQuery): Promise<ScanResult> {
    return scanIn(this.#searched, query);
  }

  /** Never rejects. */
  async saveFilters({ unfiltered }: ScanResult, goesOn?: () => boolean): Promise<void> {
    await saveFilters(this.#searched, unfiltered, goesOn).catch(() => undefined); // the next search reads the texts
  }

  /** A short search on this thread, or a long one on the other; `null` if the other one cannot be used. */
  async #onThread(query: RecallQuery): Promise<ScanResult | null> {
    const thread = this.#thread;
    if (!thread?.isAvailable) return null;
    const found = thread.isRunning ? null : await scanIn(this.#searched, query, LONG_MS);
    return found ?? thread.scan(query);
  }

  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>> {
    return seenIn(this.#access, rows, of);
  }

  async texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#access.read(({ decisions, snapshots }) =>
      pruneIds.flatMap((pruneId) => {
        const prune = decisions.prune(pruneId);
        const stored = prune && snapshots.read(prune.snapshot);
        return stored ? [{ pruneId, stored }] : [];
      }),
    );
    const texts = new Map<string, string>();
    for (const { pruneId, stored } of rows) texts.set(pruneId, await openText(stored));
    return texts;
  }

  async names(project: string, of: 'tool' | 'path'): Promise<readonly string[]> {
    return this.#access.read(({ sql }) =>
      sql.column<string>(`SELECT DISTINCT ${of} FROM recall WHERE project = ? LIMIT 20000`, [project]),
    );
  }

  continuedBy(project: string, task: string): Promise<readonly string[]> {
    return this.#sql.read(() => continuedBy(project, task));
  }
}
