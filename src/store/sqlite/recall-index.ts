import type { LeftWaiting, RecallFrequencies, RecallQuery, RecallScope } from '../../core/ports/recall.ts';
import {
  type CandidateRow,
  COLUMNS,
  commonTerms,
  estimatedCount,
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
} from '../recall/frequency.ts';
import { documentOf, type RecallDocument } from '../recall/noted.ts';
import { openTextSync } from '../text-codec.ts';
import type { Snapshots } from './snapshots.ts';
import type { Statements } from './statements.ts';

const WAITING = `SELECT r.id, r.about, r.chars, s.encoding, s.packing, s.text_bytes, c.data FROM recall r
  JOIN prune p ON p.id = r.prune JOIN snapshot s ON s.id = p.snapshot JOIN content c ON c.id = s.content WHERE r.id = ?`;

/** A term with at least this many results is slow to count. */
const COMMON = 2_000;
/** Number of index pages merged per step. */
const MERGED_PAGES = 64;

const OF_FILES = `SELECT * FROM (SELECT id, ? AS weight FROM recall
  WHERE project = ? AND file IN LIST(?) AND file <> '' ORDER BY id DESC LIMIT 400)`;
const INSERT_WORDS = 'INSERT INTO recall_word (rowid, words) VALUES (?, ?)';
const INSERT_NAMES = 'INSERT INTO recall_name (rowid, names) VALUES (?, ?)';
const DELETE_WORDS = "INSERT INTO recall_word (recall_word, rowid, words) VALUES ('delete', ?, ?)";
const DELETE_NAMES = "INSERT INTO recall_name (recall_name, rowid, names) VALUES ('delete', ?, ?)";

/**
 * The FTS5 index of searchable results. `+r.project` and `CROSS JOIN` stop SQLite from reading all rows of a project
 * when few are needed. All methods run inside the caller's transaction.
 */
export class RecallIndex {
  readonly #sql: Statements;
  readonly #snapshots: Snapshots;
  readonly #sizes = sizesOfProjects();
  /** Cached result counts of terms that are slow to count. */
  readonly #common = commonTerms();

  constructor(sql: Statements, snapshots: Snapshots) {
    this.#sql = sql;
    this.#snapshots = snapshots;
  }

  /**
   * Selects waiting results to index, oldest first, at least one.
   *
   * @param left - results that may stay unindexed
   */
  toIndex(limit: number, maxChars: number, left: LeftWaiting): WaitingRow[] {
    const rows = this.#sql.allOf<{ id: number; chars: number }>(
      `SELECT r.id, r.chars FROM recall r WHERE r.indexed <> 1 AND (r.id <= ? OR NOT EXISTS
         (SELECT 1 FROM recall_seen s WHERE s.recall = r.id AND s.conversation IN LIST(?))) ORDER BY r.id LIMIT ?`,
      [this.#lastBeyond(left), left.conversations, limit],
    );
    return withinChars(rows, maxChars).flatMap(({ id }) => this.#sql.get<WaitingRow>(WAITING, [id]) ?? []);
  }

  /** Row of the newest waiting result beyond the limits; 0 if there is none. */
  #lastBeyond({ results, chars: maxChars }: LeftWaiting): number {
    const newest = this.#sql.all<{ id: number; chars: number }>(
      'SELECT id, chars FROM recall WHERE indexed <> 1 ORDER BY id DESC LIMIT ?',
      [results + 1],
    );
    let chars = 0;
    const beyond = newest.find((row, i) => {
      chars += row.chars;
      return i === results || (i > 0 && chars > maxChars);
    });
    return beyond?.id ?? 0;
  }

  /** Indexes a waiting result, unless it was deleted or recorded with another call in the meantime. */
  put(row: number, about: string, document: RecallDocument): void {
    const now = this.#sql.get<{ project: string; prune: number; about: string; indexed: number }>(
      'SELECT project, prune, about, indexed FROM recall WHERE id = ?',
      [row],
    );
    if (!now || now.indexed === 1 || now.about !== about) return;
    if (now.indexed === 2) this.dropOf(now.prune);
    this.#sql.run(INSERT_WORDS, [row, wordsWith(document, now.project)]);
    this.#sql.run(INSERT_NAMES, [row, document.names]);
    this.#sql.run('UPDATE recall SET indexed = 1, indexed_about = about, index_bytes = ? WHERE id = ?', [
      document.bytes,
      row,
    ]);
  }

  /** Removes the index entries of a prune's text, of one project or of all; the text must still be stored. */
  dropOf(prune: number, project?: string): void {
    const rows = this.#sql.all<{ id: number; project: string; indexed_about: string }>(
      'SELECT id, project, indexed_about FROM recall WHERE prune = ? AND indexed <> 0',
      [prune],
    );
    const mine = rows.filter((row) => project === undefined || row.project === project);
    if (mine.length === 0) return;
    const text = this.#textOf(prune);
    if (text === null) return;
    for (const { id, project: of, indexed_about } of mine) {
      const document = documentOf(text, indexed_about);
      this.#sql.run(DELETE_WORDS, [id, wordsWith(document, of)]);
      this.#sql.run(DELETE_NAMES, [id, document.names]);
      this.#sql.run('UPDATE recall SET indexed = 0, index_bytes = 0 WHERE id = ?', [id]);
    }
  }

  /** Removes index entries of prunes from one project; rows and originals are kept. */
  forget(project: string, pruneIds: readonly string[]): void {
    for (const pruneId of pruneIds) {
      const prune = this.#sql.value('SELECT id FROM prune WHERE prune_id = ?', [pruneId]);
      if (prune !== undefined) this.dropOf(prune, project);
    }
  }

  /** Merges index segments, so that searches read fewer; returns whether there is more to do. */
  merge(): boolean {
    const changes = (): number => this.#sql.value('SELECT total_changes()') ?? 0;
    const work = (table: string): boolean => {
      const before = changes();
      this.#sql.run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`, [MERGED_PAGES]);
      return changes() - before > 1; // at most one change means that there was nothing to merge
    };
    const words = work('recall_word');
    return work('recall_name') || words;
  }

  /** Counts within the project, so that word frequencies of other projects stay private. */
  frequencies(project: string, terms: readonly string[]): RecallFrequencies {
    if (this.#isOnly(project)) return this.#allFrequencies(terms);
    const { results, chars, first, last } = this.#sizeOf(project);
    const count = (term: string): number => {
      const [newest] = this.#sql.all<{ count: number; oldest: number }>(
        `SELECT count(*) AS count, min(id) AS oldest FROM
           (SELECT rowid AS id FROM recall_word WHERE recall_word MATCH ? ORDER BY rowid DESC LIMIT ${MOST_COUNTED})`,
        [`${quoted(term)} AND ${quoted(projectTerm(project))}`],
      );
      return newest ? estimatedCount({ ...newest, first, last }) : 0;
    };
    const withTerm = new Map(terms.map((term) => [term, count(term)]));
    return { results, meanChars: results === 0 ? 1 : chars / results, withTerm };
  }

  #allFrequencies(terms: readonly string[]): RecallFrequencies {
    const meter = (name: string): number => this.#sql.value('SELECT value FROM meter WHERE name = ?', [name]) ?? 0;
    const results = meter('recalled');
    const meanChars = results === 0 ? 1 : meter('recalled_chars') / results;
    const known = terms.flatMap((term) => {
      const doc = this.#common.get(term);
      return doc === undefined ? [] : [{ term, doc }];
    });
    const rows = this.#sql.allOf<{ term: string; doc: number }>(
      'SELECT term, doc FROM recall_term WHERE term IN LIST(?)',
      [terms.filter((term) => !this.#common.has(term))],
    );
    for (const { term, doc } of rows) if (doc >= COMMON) this.#common.set(term, doc);
    return { results, meanChars, withTerm: new Map([...known, ...rows].map(({ term, doc }) => [term, doc])) };
  }

  #sizeOf(project: string): ProjectSize {
    const known = this.#sizes.get(project);
    if (known) return known;
    const [size = NOTHING] = this.#sql.all<ProjectSize>(
      `SELECT count(*) AS results, coalesce(sum(chars), 0) AS chars, coalesce(min(id), 0) AS first,
         coalesce(max(id), 0) AS last FROM recall WHERE project = ?`,
      [project],
    );
    if (size.results > LARGE_PROJECT) this.#sizes.set(project, size);
    return size;
  }

  /** Whether all results belong to this project, so that the index need not be filtered. */
  #isOnly(project: string): boolean {
    const [found] = this.#sql.all<{ first: string; last: string }>(
      'SELECT (SELECT min(project) FROM recall) AS first, (SELECT max(project) FROM recall) AS last',
    );
    return found?.first === project && found.last === project;
  }

  candidates({ terms, fragments, files, limit, ...scope }: RecallQuery): CandidateRow[] {
    const isShared = !this.#isOnly(scope.project);
    const within = isShared ? ` AND ${quoted(projectTerm(scope.project))}` : '';
    const rarest = rarestOf(terms);
    const matches = [
      ...rarest.map(({ term, weight }) => ({ table: 'recall_word', match: quoted(term) + within, weight })),
      ...fragments.map(({ pieces, weight }) => ({
        table: 'recall_name',
        match: pieces.map(quoted).join(' AND '),
        weight,
      })),
    ];
    const each = resultsOfTerm(matches.length);
    const parts = matches.map(
      ({ table }) =>
        `SELECT * FROM (SELECT rowid, ? AS weight FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid DESC LIMIT ${each})`,
    );
    if (files.length > 0) parts.push(OF_FILES);
    if (parts.length === 0) return [];
    const filter = filterOf(scope);
    // without a filter, the best matches are known before their rows are read
    const first =
      filter.sql === '' && !(isShared && fragments.length > 0) ? ` ORDER BY 2 DESC, 1 DESC LIMIT ${MOST_WEIGHED}` : '';
    const heaviest = matches.reduce((most, { weight }) => Math.max(most, weight), 1);
    const ofFiles = files.length > 0 ? [FILE_WEIGHT * heaviest, scope.project, files] : [];
    return this.#sql.allOf<CandidateRow>(
      `SELECT ${COLUMNS} FROM
         (SELECT rowid AS id, sum(weight) AS weight FROM (${parts.join(' UNION ALL ')}) GROUP BY rowid${first}) h
         CROSS JOIN recall r ON r.id = h.id JOIN prune p ON p.id = r.prune
       WHERE +r.project = ?${filter.sql} ORDER BY h.weight / (8000.0 + r.chars) * (8000.0 + min(r.chars, 8000)) DESC, r.id DESC LIMIT ?`,
      [...matches.flatMap(({ match, weight }) => [weight, match]), ...ofFiles, scope.project, ...filter.values, limit],
    );
  }

  waiting(scope: RecallScope, limit: number): CandidateRow[] {
    const filter = filterOf(scope);
    return this.#sql.allOf<CandidateRow>(
      `SELECT ${COLUMNS} FROM recall r JOIN prune p ON p.id = r.prune
       WHERE r.indexed <> 1 AND +r.project = ?${filter.sql} ORDER BY r.id DESC LIMIT ?`,
      [scope.project, ...filter.values, limit],
    );
  }

  #textOf(prune: number): string | null {
    const snapshot = this.#sql.value('SELECT snapshot FROM prune WHERE id = ?', [prune]);
    const stored = snapshot === undefined ? undefined : this.#snapshots.read(snapshot);
    try {
      return stored ? openTextSync(stored) : null;
    } catch {
      return null; // damaged: the entry leads to no row and is never shown
    }
  }
}

function wordsWith({ words }: RecallDocument, project: string): string {
  return `${projectTerm(project)} ${words}`;
}

/**
 * Term that marks a project's results; its prefix character never occurs in words. It is a hash, so two projects may
 * share a term.
 */
function projectTerm(project: string): string {
  let hash = 0;
  for (let i = 0; i < project.length; i++) hash = (Math.imul(hash, 31) + project.charCodeAt(i)) | 0;
  return `§${(hash >>> 0).toString(36)}`;
}

function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

const OF_TASK = ` AND r.id IN (SELECT recall FROM recall_seen WHERE task = ? AND task <> ''
  UNION SELECT recall FROM recall_seen WHERE conversation IN LIST(?))`;

function filterOf({ of, tools, paths }: RecallScope): { sql: string; values: unknown[] } {
  const parts = [
    ...(tools ? [{ sql: 'r.tool IN LIST(?)', values: tools }] : []),
    ...(paths ? [{ sql: 'r.path IN LIST(?)', values: paths }] : []),
  ];
  const sql = parts.map((part) => ` AND ${part.sql}`).join('');
  const values: unknown[] = parts.map((part) => part.values);
  return of ? { sql: sql + OF_TASK, values: [...values, of.task, of.conversations] } : { sql, values };
}
