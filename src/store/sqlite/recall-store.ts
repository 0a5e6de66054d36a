import type { NotedResult, RecallFound, RecallQuery, RecallStore, TaskScope } from '../../core/ports/recall.ts';
import type { Committed, StoreBatch } from '../../core/ports.ts';
import { findIn } from '../recall/find.ts';
import { continuedBy, noteResult, seenIn, storedHashes, withoutRefused } from '../recall/noted.ts';
import { type Sql, type Steps, save } from '../sql/steps.ts';
import { openText } from '../text-codec.ts';
import type { Access } from './access.ts';

const TEXTS = { data: 'c.data', join: 'JOIN main.content c ON c.id = s.content' };

/** `RecallStore` on the tables of a store's file. */
export class FileRecall implements RecallStore {
  readonly #access: Access;
  readonly #sql: Sql;

  constructor(access: Access, sql: Sql) {
    this.#access = access;
    this.#sql = sql;
  }

  async keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void> {
    if (results.length === 0) return;
    const work = function* (): Steps<void> {
      const committed: Committed[] = [];
      for (const batch of originals) committed.push(yield* save(batch));
      for (const result of withoutRefused(results, originals, committed)) yield* noteResult(result);
    };
    await this.#sql.write(work, { background: 'recall' });
  }

  stored(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    return storedHashes(this.#access, hashes);
  }

  find(query: RecallQuery): Promise<RecallFound> {
    return findIn(this.#access, TEXTS, query);
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
