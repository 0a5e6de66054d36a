import type {
  LeftWaiting,
  NotedResult,
  RecallCandidate,
  RecallFrequencies,
  RecallQuery,
  RecallScope,
  RecallStore,
  TaskScope,
} from '../../core/ports/recall.ts';
import type { Committed, StoreBatch } from '../../core/ports.ts';
import type { CandidateRow, WaitingRow } from '../recall/frequency.ts';
import {
  continuedBy,
  documentOf,
  noteResult,
  resultsWait,
  seenIn,
  storedHashes,
  withoutRefused,
} from '../recall/noted.ts';
import { type Sql, type Steps, save } from '../sql/steps.ts';
import { openText } from '../text-codec.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';

/** Characters indexed per step, about 5 ms. Larger texts get a step of their own. */
const STEP_CHARS = 24_000;
const STEP_RESULTS = 8;
/** The same with a dedicated thread, where larger transactions create fewer index segments. */
const THREAD_STEP_CHARS = 128 * 1024;
const THREAD_STEP_RESULTS = 64;
const NONE_LEFT: LeftWaiting = { conversations: [], results: 0, chars: 0 };
/** Time limit for merges within a step, in milliseconds. */
const MERGE_MS = 4;

/** `RecallStore` on the tables of a store's file. */
export class FileRecall implements RecallStore {
  readonly #access: Access;
  readonly #sql: Sql;
  readonly #onThread: boolean;
  /** Whether something was indexed since the last merge. */
  #isSplit = true;

  /** @param onThread - whether the store has a dedicated thread, where larger steps delay nobody */
  constructor(access: Access, sql: Sql, onThread: boolean) {
    this.#access = access;
    this.#sql = sql;
    this.#onThread = onThread;
  }

  async keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void> {
    if (results.length === 0) return;
    const work = function* (): Steps<void> {
      const committed: Committed[] = [];
      for (const batch of originals) committed.push(yield* save(batch));
      for (const result of withoutRefused(results, originals, committed)) yield* noteResult(result);
    };
    // on a dedicated thread, no other write checks that the path still leads to the file
    await this.#sql.write(work, this.#onThread ? { waitMs: BACKGROUND_WAIT_MS } : { background: 'recall' });
  }

  async index(left: LeftWaiting = NONE_LEFT): Promise<boolean> {
    const taken = await this.#access.read(({ recall }) =>
      this.#onThread
        ? recall.toIndex(THREAD_STEP_RESULTS, THREAD_STEP_CHARS, left)
        : recall.toIndex(STEP_RESULTS, STEP_CHARS, left),
    );
    if (taken.length === 0) return false;
    const documents: { row: WaitingRow; document: ReturnType<typeof documentOf> }[] = [];
    for (const row of taken) documents.push({ row, document: documentOf(await openText(row), row.about) });
    await this.#access.write(
      ({ recall }) => {
        for (const { row, document } of documents) recall.put(row.id, row.about, document);
      },
      { waitMs: BACKGROUND_WAIT_MS },
    );
    this.#isSplit = true;
    return true;
  }

  /** Merges index segments; each `index` step adds one. Returns whether there is more to do. */
  async merge(): Promise<boolean> {
    if (!this.#isSplit) return false;
    this.#isSplit = await this.#access.write(
      ({ recall }) => {
        const endMs = performance.now() + MERGE_MS;
        let more = true;
        while (more && performance.now() < endMs) more = recall.merge();
        return more;
      },
      { waitMs: BACKGROUND_WAIT_MS },
    );
    return this.#isSplit;
  }

  isBehind(): Promise<boolean> {
    return resultsWait(this.#access);
  }

  stored(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    return storedHashes(this.#access, hashes);
  }

  frequencies(project: string, terms: readonly string[]): Promise<RecallFrequencies> {
    return this.#access.read(({ recall }) => recall.frequencies(project, terms));
  }

  candidates(query: RecallQuery): Promise<readonly RecallCandidate[]> {
    return this.#access.read(({ recall }, nowMs) => this.#alive(recall.candidates(query), nowMs));
  }

  waiting(scope: RecallScope, limit: number): Promise<readonly RecallCandidate[]> {
    return this.#access.read(({ recall }, nowMs) => this.#alive(recall.waiting(scope, limit), nowMs));
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

  #alive(rows: readonly CandidateRow[], nowMs: number): RecallCandidate[] {
    return rows.flatMap(({ expires_ms, ...candidate }) =>
      this.#access.expiry('prune', candidate.pruneId, expires_ms) > nowMs ? candidate : [],
    );
  }
}
