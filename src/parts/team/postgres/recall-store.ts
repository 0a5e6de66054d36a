import type {
  NotedResult,
  RecallCandidate,
  RecallFrequencies,
  RecallQuery,
  RecallScope,
  RecallStore,
  TaskScope,
} from '../../../core/ports/recall.ts';
import type { Committed, StoreBatch } from '../../../core/ports.ts';
import {
  type CandidateRow,
  COLUMNS,
  commonTerms,
  FILE_WEIGHT,
  LARGE_PROJECT,
  MOST_COUNTED,
  MOST_WEIGHED,
  NOTHING,
  type ProjectSize,
  rarestOf,
  resultsOfTerm,
  sizesOfProjects,
  type WaitingRow,
  withinChars,
} from '../../../store/recall/frequency.ts';
import {
  continuedBy,
  documentOf,
  noteResult,
  resultsWait,
  seenIn,
  storedHashes,
  withoutRefused,
} from '../../../store/recall/noted.ts';
import { type Steps, type Transactions, writesInTurn } from '../../../store/sql/steps.ts';
import type { StoreLog } from '../../../store/store-log.ts';
import { openText, type StoredText } from '../../../store/text-codec.ts';
import type { DatabaseParts } from './database-sql.ts';
import { fromPg, toPg } from './text.ts';

/** Characters indexed per step. Larger texts get a step of their own. */
const STEP_CHARS = 64_000;
const STEP_RESULTS = 16;
const STEP_WAIT_MS = 10_000;
/** Maximum total number of results of the candidate-selecting terms, because every row of a term is read. */
const MOST_READ = 6_000;
/** Maximum number of distinct words indexed per result. */
const MAX_WORDS = 200_000;

type Commit = (batch: StoreBatch, waitMs: number) => Promise<Committed>;

/** Maximum wait for other writers when storing originals in the background, in milliseconds. */
const KEEP_WAIT_MS = 5_000;

/** `RecallStore` on PostgreSQL: words as a `tsvector`, names by pg_trgm. */
export class DatabaseRecall implements RecallStore {
  readonly #parts: DatabaseParts;
  readonly #steps: Transactions;
  readonly #log: StoreLog | undefined;
  readonly #commit: Commit;
  /** Whether pg_trgm is available for finding parts of names; `null` before the first check. */
  #hasTrigrams: boolean | null = null;
  readonly #sizes = sizesOfProjects();
  /** Cached result counts by term and project, for terms that are slow to count. */
  readonly #common = commonTerms();

  /** @param commit - stores originals, in one round trip */
  constructor(parts: DatabaseParts, log: StoreLog | undefined, commit: Commit) {
    this.#parts = parts;
    this.#commit = commit;
    this.#steps = writesInTurn(parts.rows, 'recall');
    this.#log = log;
  }

  async keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void> {
    if (results.length === 0) return;
    const committed: Committed[] = [];
    for (const batch of originals) committed.push(await this.#commit(batch, KEEP_WAIT_MS));
    const kept = withoutRefused(results, originals, committed);
    const work = function* (): Steps<void> {
      for (const result of kept) yield* noteResult(result);
    };
    await this.#steps.write(work, { background: 'recall' });
  }

  async index(): Promise<boolean> {
    const { database } = this.#parts;
    const some = await database.query<WaitingRow>(
      `SELECT r.id, r.about, r.chars, s.encoding, s.packing, s.text_bytes, s.data FROM mcp_pruner.recall r
       JOIN mcp_pruner.prune p ON p.id = r.prune JOIN mcp_pruner.snapshot s ON s.id = p.snapshot
       WHERE r.indexed <> 1 ORDER BY r.id LIMIT $1`,
      [STEP_RESULTS],
      STEP_WAIT_MS,
    );
    const taken = withinChars(some, STEP_CHARS);
    for (const row of taken) {
      const { words, names, bytes } = documentOf(await openText(row), fromPg(row.about));
      await database.write(
        `UPDATE mcp_pruner.recall SET indexed = 1, indexed_about = about, index_bytes = $3,
           words = array_to_tsvector($4::text[]), names = $5 WHERE id = $1 AND about = $2 AND indexed <> 1`,
        [row.id, row.about, bytes, words.split(' ').filter(Boolean).slice(0, MAX_WORDS).map(toPg), toPg(names)],
        STEP_WAIT_MS,
      );
    }
    return taken.length > 0;
  }

  /** No-op: the index is part of the rows. */
  merge(): Promise<boolean> {
    return Promise.resolve(false);
  }

  isBehind(): Promise<boolean> {
    return resultsWait(this.#parts.rows);
  }

  stored(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    return storedHashes(this.#parts.rows, hashes);
  }

  async frequencies(project: string, terms: readonly string[]): Promise<RecallFrequencies> {
    const keyOf = (term: string): string => `${term} ${project}`;
    const known = new Map(
      terms.flatMap((term) => {
        const count = this.#common.get(keyOf(term));
        return count === undefined ? [] : [[term, count]];
      }),
    );
    const [{ results, chars }, counts] = await Promise.all([
      this.#sizeOf(project),
      this.#parts.database.query<{ term: string; count: number; share: number }>(
        `SELECT t.term, n.count, (n.block + 1) / s.blocks AS share
         FROM unnest($2::text[]) t (term),
           (SELECT greatest(1, pg_relation_size('mcp_pruner.recall') / current_setting('block_size')::float8) AS blocks) s,
           LATERAL (SELECT count(*) AS count, max((x.ctid::text::point)[0]) AS block FROM (
             SELECT ctid FROM mcp_pruner.recall WHERE project = $1 AND words @@ ${TERM} LIMIT ${MOST_COUNTED}) x) n`,
        [toPg(project), terms.filter((term) => !known.has(term)).map(toPg)],
      ),
    ]);
    const withTerm = new Map(known);
    for (const { term, count, share } of counts) {
      // rows are found in page order, so the count is extrapolated to unread pages
      const estimated = count < MOST_COUNTED ? count : Math.round(count / Math.min(1, share));
      withTerm.set(fromPg(term), estimated);
      if (count === MOST_COUNTED) this.#common.set(keyOf(fromPg(term)), estimated);
    }
    return { results, meanChars: results === 0 ? 1 : chars / results, withTerm };
  }

  async #sizeOf(project: string): Promise<ProjectSize> {
    const known = this.#sizes.get(project);
    if (known) return known;
    const [size = NOTHING] = await this.#parts.database.query<ProjectSize>(
      `SELECT count(*) AS results, coalesce(sum(chars), 0)::float8 AS chars, coalesce(min(id), 0) AS first,
         coalesce(max(id), 0) AS last FROM mcp_pruner.recall WHERE project = $1`,
      [toPg(project)],
    );
    if (size.results > LARGE_PROJECT) this.#sizes.set(project, size);
    return size;
  }

  async candidates({ terms, fragments, files, limit, ...scope }: RecallQuery): Promise<readonly RecallCandidate[]> {
    const rarest = rarestOf(terms, MOST_READ);
    const parts = (await this.#findsFragments()) ? fragments : [];
    if (rarest.length + parts.length + files.length === 0) return [];
    const each = resultsOfTerm(rarest.length + parts.length);
    const filter = filterOf(scope, 9);
    // without a filter, the best matches are known before their rows are read
    const first = filter.sql === '' ? ` ORDER BY 2 DESC, 1 DESC LIMIT ${MOST_WEIGHED}` : '';
    const rows = await this.#parts.database.query<CandidateRow>(
      `SELECT ${COLUMNS} FROM (
         SELECT id, sum(weight) AS weight FROM (
           SELECT f.id, t.weight FROM unnest($2::text[], $3::float8[]) t (term, weight) CROSS JOIN LATERAL (
             SELECT id FROM mcp_pruner.recall WHERE project = $1 AND words @@ ${TERM} ORDER BY id DESC LIMIT ${each}) f
           UNION ALL
           SELECT f.id, t.weight FROM unnest($4::text[], $5::float8[]) t (part, weight) CROSS JOIN LATERAL (
             SELECT id FROM mcp_pruner.recall WHERE project = $1 AND names LIKE '%' || t.part || '%'
             ORDER BY id DESC LIMIT ${each}) f
           UNION ALL
           SELECT id, $8::float8 FROM mcp_pruner.recall
             WHERE project = $1 AND file = ANY ($7) AND file <> '') x GROUP BY id${first}) h
         CROSS JOIN LATERAL (SELECT * FROM mcp_pruner.recall WHERE id = h.id OFFSET 0) r
         JOIN mcp_pruner.prune p ON p.id = r.prune
       WHERE true${filter.sql}
       ORDER BY h.weight / (8000.0 + r.chars) * (8000.0 + least(r.chars, 8000)) DESC, r.id DESC LIMIT $6`,
      [
        toPg(scope.project),
        rarest.map(({ term }) => toPg(term)),
        rarest.map(({ weight }) => weight),
        parts.map(({ name }) => toPg(escaped(name))),
        parts.map(({ weight }) => weight),
        limit,
        files.map(toPg),
        FILE_WEIGHT * Math.max(1, ...rarest.map(({ weight }) => weight)),
        ...filter.values,
      ],
    );
    return this.#alive(rows);
  }

  async waiting(scope: RecallScope, limit: number): Promise<readonly RecallCandidate[]> {
    const filter = filterOf(scope, 3);
    const rows = await this.#parts.database.query<CandidateRow>(
      `SELECT ${COLUMNS} FROM mcp_pruner.recall r JOIN mcp_pruner.prune p ON p.id = r.prune
       WHERE r.indexed <> 1 AND r.project = $1${filter.sql} ORDER BY r.id DESC LIMIT $2`,
      [toPg(scope.project), limit, ...filter.values],
    );
    return this.#alive(rows);
  }

  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>> {
    return seenIn(this.#parts.rows, rows, of);
  }

  async texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#parts.database.query<StoredText & { prune_id: string }>(
      `SELECT p.prune_id, s.encoding, s.packing, s.text_bytes, s.data
       FROM mcp_pruner.prune p JOIN mcp_pruner.snapshot s ON s.id = p.snapshot WHERE p.prune_id = ANY ($1)`,
      [pruneIds.map(toPg)],
    );
    const texts = new Map<string, string>();
    for (const row of rows) texts.set(row.prune_id, await openText(row));
    return texts;
  }

  async names(project: string, of: 'tool' | 'path'): Promise<readonly string[]> {
    const rows = await this.#parts.database.query<{ name: string }>(
      `SELECT DISTINCT ${of} AS name FROM mcp_pruner.recall WHERE project = $1 LIMIT 20000`,
      [toPg(project)],
    );
    return rows.map(({ name }) => fromPg(name));
  }

  continuedBy(project: string, task: string): Promise<readonly string[]> {
    return this.#steps.read(() => continuedBy(project, task));
  }

  async #findsFragments(): Promise<boolean> {
    if (this.#hasTrigrams !== null) return this.#hasTrigrams;
    const [found] = await this.#parts.database.query<{ there: boolean }>(
      "SELECT to_regclass('mcp_pruner.recall_trigrams') IS NOT NULL AS there",
    );
    this.#hasTrigrams = found?.there === true;
    if (!this.#hasTrigrams) {
      this.#log?.warn({}, 'the database has no pg_trgm: recall finds only whole words, not parts of names');
    }
    return this.#hasTrigrams;
  }

  #alive(rows: readonly CandidateRow[]): RecallCandidate[] {
    const { rows: clock } = this.#parts;
    const nowMs = clock.nowMs();
    return rows.flatMap(({ expires_ms, ...candidate }) =>
      clock.expiry('prune', candidate.pruneId, expires_ms) > nowMs
        ? { ...candidate, tool: fromPg(candidate.tool), path: fromPg(candidate.path), about: fromPg(candidate.about) }
        : [],
    );
  }
}

/** A term as a query, quoted so that it contains no operators. */
const TERM = `quote_literal(t.term)::tsquery`;

/** Escapes a part of a name for LIKE. */
function escaped(part: string): string {
  return part.replaceAll(/[\\%_]/g, '\\$&');
}

/** @param first - number of the first SQL parameter */
function filterOf({ of, tools, paths }: RecallScope, first: number): { sql: string; values: unknown[] } {
  const parts: string[] = [];
  const values: unknown[] = [];
  const next = (value: unknown): string => `$${first - 1 + values.push(value)}`;
  if (tools) parts.push(`r.tool = ANY (${next(tools.map(toPg))})`);
  if (paths) parts.push(`r.path = ANY (${next(paths.map(toPg))})`);
  if (of) {
    parts.push(`r.id IN (SELECT recall FROM mcp_pruner.recall_seen WHERE task = ${next(toPg(of.task))} AND task <> ''
      UNION SELECT recall FROM mcp_pruner.recall_seen WHERE conversation = ANY (${next(of.conversations.map(toPg))}))`);
  }
  return { sql: parts.map((sql) => ` AND ${sql}`).join(''), values };
}
