import type { NotedResult, TaskScope } from '../../core/ports/recall.ts';
import type { Committed, StoreBatch } from '../../core/ports.ts';
import { groupBy } from '../../engine/group-by.ts';
import { all, change, each, type Rows, type Steps } from '../sql/steps.ts';

/** A stored text, with the row of the project if it had the text before; or the newest result of a call. */
interface Known {
  /** The prune id of a text, or the call. */
  readonly name: string;
  /** Row of the prune; 0 for a call. */
  readonly prune: number;
  readonly id: number | null;
  /** Index of the last message of the conversation that contained it. */
  readonly ordinal: number | null;
}

const KNOWN = `
  SELECT p.prune_id AS name, p.id AS prune, r.id,
    (SELECT max(s.ordinal) FROM main.recall_seen s WHERE s.recall = r.id AND s.conversation = ?) AS ordinal
  FROM main.prune p LEFT JOIN main.recall r ON r.prune = p.id AND r.project = ? WHERE p.prune_id IN LIST(?)
  UNION ALL SELECT c.call, 0, c.id, 0 FROM main.recall c
  WHERE c.project = ? AND c.call IN LIST(?) AND c.call <> '' AND c.newer IS NULL`;
const ADD = `INSERT INTO main.recall (project, prune, tool, path, about, call, seen_ms, chars) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (project, prune) DO NOTHING RETURNING id, prune`;
const ADD_SEEN = `INSERT INTO main.recall_seen (recall, conversation, task, ordinal) VALUES (?, ?, ?, ?)
  ON CONFLICT (recall, conversation, task) DO UPDATE SET ordinal = excluded.ordinal`;

/**
 * Records results whose originals are stored. A repetition from the same message of the same conversation is only
 * linked; any other becomes the newest result of its call.
 */
export function* noteResults(results: readonly NotedResult[]): Steps<void> {
  const together = groupBy(results, ({ project, conversationId, task }) =>
    JSON.stringify([project, conversationId, task]),
  );
  for (const some of together.values()) yield* noteTogether(some);
}

/** Records results of one project, conversation and task. */
function* noteTogether(results: readonly NotedResult[]): Steps<void> {
  const [first] = results;
  if (!first) return;
  const { project, conversationId, task } = first;
  const pruneIds = [...new Set(results.map(({ pruneId }) => pruneId))];
  const calls = [...new Set(results.map(({ call }) => call))];
  const rows = yield* all<Known>(KNOWN, [conversationId, project, pruneIds, project, calls]);
  const texts = new Map(rows.flatMap((row) => (row.prune > 0 ? [[row.name, row] as const] : [])));
  const newest = groupBy(
    rows.filter(({ prune }) => prune === 0),
    ({ name }) => name,
  );
  const fresh = new Map<number, NotedResult>();
  for (const result of results) {
    const text = texts.get(result.pruneId);
    if (text && text.id === null && !fresh.has(text.prune)) fresh.set(text.prune, result);
  }
  const added = yield* each<{ readonly id: number; readonly prune: number }>(
    ADD,
    [...fresh].map(([prune, { tool, path, about, call, atMs, chars }]) => [
      ...[project, prune, tool, path, about, call, atMs, chars],
    ]),
  );
  const idOf = new Map(added.map(({ id, prune }) => [prune, id]));
  const seen = new Map<number, number>();
  for (const result of results) {
    const text = texts.get(result.pruneId);
    const id = text && (text.id ?? idOf.get(text.prune));
    if (!text || id === undefined) continue;
    const before = seen.get(id) ?? text.ordinal ?? -1;
    seen.set(id, Math.max(before, result.ordinal));
    if (before >= result.ordinal) continue;
    if (fresh.get(text.prune) !== result) yield* change(MOVE, movedTo(result, id));
    const older = newest.get(result.call)?.filter((row) => row.id !== id) ?? [];
    if (older.length > 0) yield* change(SUPERSEDE, [id, project, result.call, id]);
    if (result.call !== '') newest.set(result.call, [{ name: result.call, prune: 0, id, ordinal: 0 }]);
  }
  yield* each(
    ADD_SEEN,
    [...seen].map(([id, ordinal]) => [id, conversationId, task, ordinal]),
  );
}

/** Attributes a text to its latest call. */
const MOVE = 'UPDATE main.recall SET tool = ?, path = ?, about = ?, call = ?, seen_ms = ?, newer = NULL WHERE id = ?';
/** Marks older results of a call. */
const SUPERSEDE =
  "UPDATE main.recall SET newer = ? WHERE project = ? AND call = ? AND call <> '' AND newer IS NULL AND id <> ?";

function movedTo({ tool, path, about, call, atMs }: NotedResult, id: number): (string | number)[] {
  return [tool, path, about, call, atMs, id];
}

/** Drops results whose original was refused. */
export function withoutRefused(
  results: readonly NotedResult[],
  originals: readonly StoreBatch[],
  committed: readonly Committed[],
): readonly NotedResult[] {
  const keys = new Set(committed.flatMap(({ refused }) => refused));
  if (keys.size === 0) return results;
  const decisions = originals.flatMap((batch) => batch.decisions.map(({ decision }) => decision));
  const refused = new Set(decisions.filter(({ key }) => keys.has(key)).map(({ pruneId }) => pruneId));
  return results.filter(({ pruneId }) => !refused.has(pruneId));
}

/** Maximum number of earlier conversations followed per task. */
const MAX_CONTINUED = 100;

/** Conversations continued by a task's conversations, and the one named like the task. */
export function* continuedBy(project: string, task: string): Steps<string[]> {
  const rows = yield* all<{ conversation: string }>(
    `SELECT DISTINCT s.conversation FROM main.recall_seen s JOIN main.recall r ON r.id = s.recall
     WHERE r.project = ? AND s.task = ? AND s.task <> ''`,
    [project, task],
  );
  const found = new Set([task]);
  for (
    let open = [task, ...rows.map(({ conversation }) => conversation)];
    open.length > 0 && found.size < MAX_CONTINUED;
  ) {
    const before = yield* all<{ continues: string }>(
      'SELECT DISTINCT continues FROM main.compaction WHERE project = ? AND conversation IN LIST(?)',
      [project, open],
    );
    open = before.map(({ continues }) => continues).filter((name) => name !== '' && !found.has(name));
    for (const name of open) found.add(name);
  }
  return [...found];
}

/** Filters the rows that a task or one of the conversations contained. */
export async function seenIn(
  rows: Rows,
  ids: readonly number[],
  { task, conversations }: TaskScope,
): Promise<ReadonlySet<number>> {
  const found = await rows.all<{ recall: number }>(
    `SELECT DISTINCT recall FROM main.recall_seen
     WHERE recall IN LIST(?) AND ((task = ? AND task <> '') OR conversation IN LIST(?))`,
    [ids, task, conversations],
  );
  return new Set(found.map(({ recall }) => recall));
}

/** Returns the hashes whose originals are stored. */
export function storedHashes(rows: Rows, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  const found = rows.all<{ hash: string }>('SELECT hash FROM main.snapshot WHERE hash IN LIST(?)', [hashes]);
  return found.then((stored) => new Set(stored.map(({ hash }) => hash)));
}
