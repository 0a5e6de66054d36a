import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecallCandidate, RecallFound, RecallQuery, RecallScope } from '../../core/ports/recall.ts';
import { type Scanned, type ScannedText, TextScan } from '../../engine/search/scan.ts';
import { filterOf } from '../../engine/search/term-filter.ts';
import { all, each, type Rows, type Steps, type Transactions } from '../sql/steps.ts';
import { openText, type StoredText } from '../text-codec.ts';

/** A store whose results are searched. */
export interface SearchedStore {
  readonly rows: Rows & Pick<Transactions, 'write'>;
  /** How the database joins the bytes of a text to its row `s` of `snapshot`. */
  readonly bytes: { readonly column: string; readonly join: string };
}

/** A search, and the results that it had to read because they have no filter. */
export interface ScanResult extends Scanned {
  readonly unfiltered: readonly number[];
}

/** Results that are read at once, and texts. */
const PAGE = 512;
const TEXTS = 32;
/** A search returns to the event loop after this time, in milliseconds. */
const SLICE_MS = 4;
/** The most texts that are searched of those that may have the terms. */
const MOST_READ = 200;
const READ_CHARS = 1_500_000;
/** At most so much of the newest texts is searched for parts of words that no text has as words, in characters. */
const FRAGMENT_CHARS = 64_000_000;

/** Measures the time of a search on this thread, and returns to the event loop after each slice. */
class Slices {
  readonly #mostMs: number;
  #usedMs = 0;
  #sinceMs = performance.now();

  constructor(mostMs: number) {
    this.#mostMs = mostMs;
  }

  /** Returns whether there is time left. */
  async next(): Promise<boolean> {
    const ms = performance.now() - this.#sinceMs;
    if (ms < SLICE_MS) return true;
    this.#usedMs += ms;
    await nextTurn();
    this.#sinceMs = performance.now();
    return this.#usedMs < this.#mostMs;
  }
}

/**
 * Searches the results of a scope, newest first, in time slices. A text with a filter is read only if the filter may
 * have terms of the query and the text is among the most promising ones.
 *
 * @param mostMs - time on this thread after which the search is given up
 * @returns `null` if it was given up
 */
export async function scanIn(store: SearchedStore, query: RecallQuery): Promise<ScanResult>;
export async function scanIn(store: SearchedStore, query: RecallQuery, mostMs: number): Promise<ScanResult | null>;
export async function scanIn(
  { rows, bytes }: SearchedStore,
  { terms, files, limit, ...scope }: RecallQuery,
  mostMs = Number.POSITIVE_INFINITY,
): Promise<ScanResult | null> {
  const slices = new Slices(mostMs);
  const unfiltered: number[] = [];
  let scan = new TextScan(terms, files);
  const search = async (usesFilters: boolean): Promise<boolean> => {
    const filter = scopeFilter(scope);
    const page = `SELECT r.id, r.path, r.about, r.chars, f.data AS filter FROM main.recall r
      LEFT JOIN main.recall_filter f ON f.recall = r.id
      WHERE r.project = ? AND r.id < ?${filter.sql} ORDER BY r.id DESC LIMIT ${PAGE}`;
    let chars = 0;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const found = await rows.all<ResultRow>(page, [scope.project, before, ...filter.values]);
      const whole: ResultRow[] = [];
      for (const row of found) {
        if (row.filter !== null && usesFilters) scan.addFiltered(row, row.filter);
        else whole.push(row);
        if (row.filter === null && usesFilters) unfiltered.push(row.id);
      }
      for (let i = 0; i < whole.length; i += TEXTS) {
        const some = whole.slice(i, i + TEXTS);
        const texts = await textsOf({ rows, bytes }, some);
        for (const row of some) {
          scan.add(row, await opened(texts.get(row.id)));
          chars += row.chars;
          if (!(await slices.next())) return false;
        }
      }
      if (!(await slices.next())) return false;
      if (found.length < PAGE || (!usesFilters && chars > FRAGMENT_CHARS)) return true;
      before = found.at(-1)?.id ?? 0;
    }
  };
  if (!(await search(true))) return null;
  const promising = scan.toRead(MOST_READ, READ_CHARS);
  for (let i = 0; i < promising.length; i += TEXTS) {
    const texts = await textsOf({ rows, bytes }, promising.slice(i, i + TEXTS));
    for (const [id, packed] of texts) {
      scan.read(id, await opened(packed));
      if (!(await slices.next())) return null;
    }
  }
  if (scan.isEmpty && scan.hasFiltered) {
    scan = new TextScan(terms, files);
    if (!(await search(false))) return null;
  }
  return { ...scan.ranked(limit), unfiltered };
}

interface ResultRow extends ScannedText {
  readonly filter: Buffer | null;
}

interface TextRow extends StoredText {
  readonly id: number;
  readonly pruneId: string;
}

async function textsOf(
  { rows, bytes: { column, join } }: SearchedStore,
  results: readonly (number | { readonly id: number })[],
): Promise<ReadonlyMap<number, TextRow>> {
  const ids = results.map((one) => (typeof one === 'number' ? one : one.id));
  const found = await rows.all<TextRow>(
    `SELECT r.id, p.prune_id AS "pruneId", s.encoding, s.packing, s.text_bytes, ${column} AS data
     FROM main.recall r JOIN main.prune p ON p.id = r.prune JOIN main.snapshot s ON s.id = p.snapshot ${join}
     WHERE r.id IN LIST(?)`,
    [ids],
  );
  return new Map(found.map((row) => [row.id, row]));
}

async function opened(packed: StoredText | undefined): Promise<string> {
  return packed === undefined ? '' : openText(packed).catch(() => ''); // recovery reports and deletes damaged texts
}

/**
 * Stores the filters of results, so that later searches need not read their texts.
 *
 * @param goesOn - asked before every few results
 * @throws StoreUnavailable
 */
export async function saveFilters(
  { rows, bytes }: SearchedStore,
  results: readonly number[],
  goesOn = (): boolean => true,
): Promise<void> {
  const slices = new Slices(Number.POSITIVE_INFINITY);
  for (let i = 0; i < results.length && goesOn(); i += TEXTS) {
    const filters: { readonly pruneId: string; readonly values: readonly [number, Uint8Array] }[] = [];
    for (const [id, packed] of await textsOf({ rows, bytes }, results.slice(i, i + TEXTS))) {
      const filter = filterOf(await opened(packed));
      if (filter !== null) filters.push({ pruneId: packed.pruneId, values: [id, filter] });
      await slices.next();
    }
    await rows.write(
      function* (): Steps<void> {
        // the row of a deleted result may meanwhile have been given to another one
        const there = yield* all<{ id: number; pruneId: string }>(
          `SELECT r.id, p.prune_id AS "pruneId" FROM main.recall r JOIN main.prune p ON p.id = r.prune WHERE r.id IN LIST(?)`,
          [filters.map(({ values: [id] }) => id)],
        );
        const known = new Map(there.map(({ id, pruneId }) => [id, pruneId]));
        yield* each(
          'INSERT INTO main.recall_filter (recall, data) VALUES (?, ?) ON CONFLICT (recall) DO NOTHING',
          filters.flatMap(({ pruneId, values }) => (known.get(values[0]) === pruneId ? [values] : [])),
        );
      },
      { background: 'recall' },
    );
  }
}

/** The found results with what is known of them, without expired ones. */
export async function foundIn(rows: Rows, { ids, ...found }: Scanned): Promise<RecallFound> {
  const { results, meanChars, withTerm, more } = found;
  return { results, meanChars, withTerm, more, candidates: ids.length === 0 ? [] : await candidatesOf(rows, ids) };
}

interface CandidateRow extends RecallCandidate {
  readonly expiresMs: number;
}

async function candidatesOf(rows: Rows, ids: readonly number[]): Promise<readonly RecallCandidate[]> {
  const found = await rows.all<CandidateRow>(
    `SELECT r.id AS "row", p.prune_id AS "pruneId", r.tool, r.path, r.about, r.seen_ms AS "seenMs", r.chars, r.newer,
       p.expires_ms AS "expiresMs"
     FROM main.recall r JOIN main.prune p ON p.id = r.prune WHERE r.id IN LIST(?)`,
    [ids],
  );
  const nowMs = rows.nowMs();
  const byRow = new Map(found.map(({ expiresMs, ...candidate }) => [candidate.row, { candidate, expiresMs }]));
  return ids.flatMap((id) => {
    const { candidate, expiresMs = 0 } = byRow.get(id) ?? {};
    return candidate && rows.expiry('prune', candidate.pruneId, expiresMs) > nowMs ? candidate : [];
  });
}

function scopeFilter({ of, tools, paths }: RecallScope): { readonly sql: string; readonly values: readonly unknown[] } {
  const parts = [
    ...(tools ? [{ sql: ' AND r.tool IN LIST(?)', values: [tools] }] : []),
    ...(paths ? [{ sql: ' AND r.path IN LIST(?)', values: [paths] }] : []),
    ...(of ? [{ sql: OF_TASK, values: [of.task, of.conversations] }] : []),
  ];
  return { sql: parts.map(({ sql }) => sql).join(''), values: parts.flatMap(({ values }) => values) };
}

const OF_TASK = ` AND r.id IN (SELECT recall FROM main.recall_seen WHERE task = ? AND task <> ''
  UNION SELECT recall FROM main.recall_seen WHERE conversation IN LIST(?))`;
