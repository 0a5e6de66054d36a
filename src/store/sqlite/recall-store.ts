import type {
  NotedResult,
  RecallCandidate,
  RecallFrequencies,
  RecallQuery,
  RecallScope,
  RecallStore,
  TaskScope,
} from '../../core/ports/recall.ts';
import { continuedBy, documentOf, noteResult, seenIn, storedHashes } from '../recall/noted.ts';
import type { Sql } from '../sql/steps.ts';
import { openText, type StoredText } from '../text-codec.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import type { CandidateRow } from './recall-index.ts';

/** Characters indexed per step, about 5 ms. A larger text gets its own step. */
const STEP_CHARS = 24_000;
const STEP_RESULTS = 8;
/** Time for merges within a step, in milliseconds. */
const MERGE_MS = 4;

interface Waiting extends StoredText {
  readonly id: number;
  readonly about: string;
  readonly chars: number;
}

/** `RecallStore` on the tables of a store's file. */
export class FileRecall implements RecallStore {
  readonly #access: Access;
  readonly #sql: Sql;
  /** Whether something was indexed since the last merge. */
  #isSplit = true;

  constructor(access: Access, sql: Sql) {
    this.#access = access;
    this.#sql = sql;
  }

  async note(results: readonly NotedResult[]): Promise<void> {
    if (results.length === 0) return;
    await this.#sql.write(function* () {
      for (const result of results) yield* noteResult(result);
    });
  }

  async index(): Promise<boolean> {
    const some = await this.#access.read(({ sql }) =>
      sql.all<Waiting>(
        `SELECT r.id, r.about, r.chars, s.encoding, s.packing, s.text_bytes, c.data FROM recall r
         JOIN prune p ON p.id = r.prune JOIN snapshot s ON s.id = p.snapshot JOIN content c ON c.id = s.content
         WHERE r.indexed <> 1 ORDER BY r.id LIMIT ?`,
        [STEP_RESULTS],
      ),
    );
    if (some.length === 0) return this.#isSplit ? this.#merge() : false;
    let chars = 0;
    const taken = some.filter((row, i) => {
      chars += row.chars;
      return i === 0 || chars <= STEP_CHARS;
    });
    const documents: { row: Waiting; document: ReturnType<typeof documentOf> }[] = [];
    for (const row of taken) documents.push({ row, document: documentOf(await openText(row), row.about) });
    await this.#access.write(
      ({ recall }) => {
        for (const { row, document } of documents) recall.put(row.id, row.about, document);
      },
      { waitMs: BACKGROUND_WAIT_MS },
    );
    await this.#merge();
    return true;
  }

  /** Each result that is indexed adds a piece to the index, so that merging must keep pace with it. */
  async #merge(): Promise<boolean> {
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
