import type { NotedResult, TaskScope } from '../../core/ports/recall.ts';
import type { Committed, StoreBatch } from '../../core/ports.ts';
import { all, change, each, one, type Rows, type Steps } from '../sql/steps.ts';

/** Stored facts of a result: its prune and, if the project had the result before, its row. */
interface Known {
  readonly prune: number;
  readonly id: number | null;
  /** Index of the last message of the conversation that contained it. */
  readonly ordinal: number | null;
}

const KNOWN = `
  SELECT p.id AS prune, r.id,
    (SELECT max(s.ordinal) FROM main.recall_seen s WHERE s.recall = r.id AND s.conversation = ?) AS ordinal
  FROM main.prune p LEFT JOIN main.recall r ON r.prune = p.id AND r.project = ? WHERE p.prune_id = ?`;

/**
 * Records a result whose original is stored. A repetition from the same message of the same conversation is only
 * linked; any other becomes the newest result of its call.
 */
export function* noteResult(result: NotedResult): Steps<void> {
  const { project, pruneId, conversationId, task, ordinal } = result;
  const known = yield* one<Known>(KNOWN, [conversationId, project, pruneId]);
  if (!known) return;
  const row = known.id ?? (yield* add(result, known.prune));
  if (row === null) return;
  const seen = known.ordinal ?? -1;
  yield* change(
    `INSERT INTO main.recall_seen (recall, conversation, task, ordinal) VALUES (?, ?, ?, ?)
     ON CONFLICT (recall, conversation, task) DO UPDATE SET ordinal = excluded.ordinal`,
    [row, conversationId, task, Math.max(seen, ordinal)],
  );
  if (seen < ordinal) yield* newest(result, row, known.id !== null);
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

function* add({ project, tool, path, about, call, chars, atMs }: NotedResult, prune: number): Steps<number | null> {
  const [made] = yield* each<{ id: number }>(
    `INSERT INTO main.recall (project, prune, tool, path, about, call, seen_ms, chars) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (project, prune) DO NOTHING RETURNING id`,
    [[project, prune, tool, path, about, call, atMs, chars]],
  );
  return made?.id ?? null;
}

/** Attributes a result to its latest call, and marks older results of the same call as superseded. */
function* newest({ project, tool, path, about, call, atMs }: NotedResult, row: number, isKnown: boolean): Steps<void> {
  if (isKnown) {
    yield* change(
      'UPDATE main.recall SET tool = ?, path = ?, about = ?, call = ?, seen_ms = ?, newer = NULL WHERE id = ?',
      [tool, path, about, call, atMs, row],
    );
  }
  if (call === '') return;
  yield* change(
    "UPDATE main.recall SET newer = ? WHERE project = ? AND call = ? AND call <> '' AND newer IS NULL AND id <> ?",
    [row, project, call, row],
  );
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
export async function storedHashes(rows: Rows, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  const found = await rows.all<{ hash: string }>('SELECT hash FROM main.snapshot WHERE hash IN LIST(?)', [hashes]);
  return new Set(found.map(({ hash }) => hash));
}
