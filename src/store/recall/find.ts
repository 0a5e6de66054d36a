import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecallCandidate, RecallFound, RecallQuery, RecallScope } from '../../core/ports/recall.ts';
import { TextScan } from '../../engine/search/scan.ts';
import type { Rows } from '../sql/steps.ts';
import { openText, type StoredText } from '../text-codec.ts';

/** How a database joins the bytes of a text to its row `s` of `snapshot`. */
export interface TextSource {
  readonly data: string;
  readonly join: string;
}

interface TextRow extends StoredText {
  readonly id: number;
  readonly path: string;
  readonly about: string;
}

interface CandidateRow extends RecallCandidate {
  readonly expiresMs: number;
}

/** Results read at once. */
const PAGE = 32;
/** A search returns to the event loop after this time, in milliseconds. */
const SLICE_MS = 4;

/** Searches the texts of a scope, newest first, in time slices. */
export async function findIn(
  rows: Rows,
  { data, join }: TextSource,
  { terms, files, limit, ...scope }: RecallQuery,
): Promise<RecallFound> {
  const filter = filterOf(scope);
  const page = `SELECT r.id, r.path, r.about, s.encoding, s.packing, s.text_bytes, ${data} AS data
    FROM main.recall r JOIN main.prune p ON p.id = r.prune JOIN main.snapshot s ON s.id = p.snapshot ${join}
    WHERE r.project = ? AND r.id < ?${filter.sql} ORDER BY r.id DESC LIMIT ${PAGE}`;
  const scan = new TextScan(terms, files);
  let endMs = performance.now() + SLICE_MS;
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const texts = await rows.all<TextRow>(page, [scope.project, before, ...filter.values]);
    for (const row of texts) {
      const text = await openText(row).catch(() => ''); // damaged: recovery reports and deletes it
      scan.add(row, text);
      if (performance.now() < endMs) continue;
      await nextTurn();
      endMs = performance.now() + SLICE_MS;
    }
    if (texts.length < PAGE) break;
    before = texts.at(-1)?.id ?? 0;
  }
  const { ids, ...found } = scan.ranked(limit);
  return { ...found, candidates: await candidatesOf(rows, ids) };
}

/** The results of rows, in their order, without expired ones. */
async function candidatesOf(rows: Rows, ids: readonly number[]): Promise<readonly RecallCandidate[]> {
  if (ids.length === 0) return [];
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

function filterOf({ of, tools, paths }: RecallScope): { readonly sql: string; readonly values: readonly unknown[] } {
  const parts = [
    ...(tools ? [{ sql: ' AND r.tool IN LIST(?)', values: [tools] }] : []),
    ...(paths ? [{ sql: ' AND r.path IN LIST(?)', values: [paths] }] : []),
    ...(of ? [{ sql: OF_TASK, values: [of.task, of.conversations] }] : []),
  ];
  return { sql: parts.map(({ sql }) => sql).join(''), values: parts.flatMap(({ values }) => values) };
}

const OF_TASK = ` AND r.id IN (SELECT recall FROM main.recall_seen WHERE task = ? AND task <> ''
  UNION SELECT recall FROM main.recall_seen WHERE conversation IN LIST(?))`;
