import { contentIdOf } from '../../base/conversation-ids.ts';
import { sentLineage } from '../ledger-rows.ts';
import { all, change, each, erase, type Steps, turn } from '../sql/steps.ts';
import { neededElsewhere, type Owner, pruneIdsIn } from './links.ts';

const PRUNES = 'prune IN (SELECT id FROM main.prune WHERE prune_id IN LIST(?))';
const OWN_SEGMENTS = `segment IN (SELECT s.id FROM main.segment s JOIN main.conversation c ON c.id = s.conversation
  WHERE FIRST_LINE(c.project) = ? AND (? = 1 OR c.name IN LIST(?)))`;
/** Maximum number of rows deleted per statement, so that other writers do not wait long. */
const ROWS = 500;

interface PruneRow {
  readonly prune_id: string;
}

/**
 * Releases prunes from an owner, and erases prunes without other owners, including decisions, originals and recall
 * index entries. @returns the ids of erased prunes
 */
export function* releasePrunes(owner: Owner, pruneIds: readonly string[]): Steps<readonly string[]> {
  const { project, conversations, whole } = owner;
  yield* turn(`segments ${project}`);
  const needed = yield* neededElsewhere(owner, pruneIds);
  if (!whole)
    yield* change(
      `DELETE FROM main.recall_seen WHERE conversation IN LIST(?)
       AND recall IN (SELECT id FROM main.recall WHERE project = ? AND ${PRUNES})`,
      [conversations, project, pruneIds],
    );
  const unseen = whole ? '' : 'AND NOT EXISTS (SELECT 1 FROM main.recall_seen v WHERE v.recall = r.id)';
  const rows = yield* all<PruneRow>(
    `SELECT p.prune_id FROM main.recall r JOIN main.prune p ON p.id = r.prune
     WHERE r.project = ? AND p.prune_id IN LIST(?) ${unseen}`,
    [project, pruneIds],
  );
  const recalled = rows.map(({ prune_id }) => prune_id);
  yield* change(`DELETE FROM main.recall WHERE project = ? AND ${PRUNES}`, [project, recalled]);
  yield* change(`DELETE FROM main.segment_prune WHERE prune_id IN LIST(?) AND ${OWN_SEGMENTS}`, [
    ...[pruneIds, project, whole ? 1 : 0, conversations],
  ]);
  yield* change(`DELETE FROM main.charge WHERE conversation IN LIST(?) AND ${PRUNES}`, [conversations, pruneIds]);
  if (whole) yield* change(`DELETE FROM main.prune_owner WHERE project = ? AND ${PRUNES}`, [project, pruneIds]);
  const gone = pruneIds.filter((id) => !needed.has(id));
  yield* erase(gone);
  return gone;
}

/** Erases all data about conversations except their prunes, figures and events. */
export function* eraseConversations(project: string, names: readonly string[]): Steps<void> {
  yield* turn(`segments ${project}`);
  yield* turn(`directives ${project}`);
  const of = [project, names];
  const conversations = 'SELECT c.id FROM main.conversation c WHERE FIRST_LINE(c.project) = ? AND c.name IN LIST(?)';
  const segments = yield* all<{ project: string; name: string }>(
    `SELECT project, name FROM main.segment WHERE conversation IN (${conversations})`,
    of,
  );
  yield* each(
    'DELETE FROM main.directive WHERE project = ? AND segment = ?',
    segments.map(({ project: key, name }) => [key, name]),
  );
  const contents = yield* contentsOfNoOther(project, names);
  const steps = yield* all<{ id: number; project: string; scope: string }>(
    'SELECT t.id, t.project, t.scope FROM main.step t WHERE FIRST_LINE(t.project) = ? AND t.conversation IN LIST(?)',
    [project, contents],
  );
  yield* each(
    'DELETE FROM main.directive WHERE project = ? AND scope = ?',
    steps.map(({ project: key, scope }) => [key, scope]),
  );
  yield* change('DELETE FROM main.step WHERE id IN LIST(?)', [steps.map(({ id }) => id)]);
  yield* change(`DELETE FROM main.segment WHERE conversation IN (${conversations})`, of);
  yield* change(`DELETE FROM main.conversation WHERE id IN (${conversations})`, of);
  const shelf = yield* all<{ id: number; conversation: string }>(
    'SELECT id, conversation FROM main.tool_shelf_conversation WHERE project = ?',
    [project],
  );
  const known = new Set(contents);
  // the name begins with the wire
  const shelved = shelf.filter(({ conversation }) => known.has(conversation.slice(conversation.indexOf(' ') + 1)));
  yield* change('DELETE FROM main.tool_shelf_conversation WHERE id IN LIST(?)', [shelved.map(({ id }) => id)]);
  yield* change(`DELETE FROM main.compaction WHERE project = ? AND (continues IN LIST(?) OR conversation IN LIST(?))`, [
    project,
    names,
    names,
  ]);
}

/**
 * The content ids of conversations of a project that none of its other conversations have. What was sent of those must
 * not change.
 */
function* contentsOfNoOther(project: string, names: readonly string[]): Steps<string[]> {
  const own = new Set(names.map(contentIdOf));
  const others = yield* all<{ name: string }>(
    `SELECT c.name FROM main.conversation c WHERE FIRST_LINE(c.project) = ? AND NOT c.name IN LIST(?)
     AND substr(c.name, length(c.name) - 31) IN LIST(?)`,
    [project, names, [...own]],
  );
  for (const { name } of others) own.delete(contentIdOf(name));
  return [...own];
}

/** Deletes bills and ledger states of conversations. Sums are kept. */
export function* eraseBills(project: string, names: readonly string[]): Steps<void> {
  yield* turn('ledger');
  const states = names.map((name) => `conversation\n${project}\n${name}`);
  yield* change('DELETE FROM main.ledger_turn WHERE project = ? AND conversation IN LIST(?)', [project, names]);
  const lineages = names.map((name) => sentLineage(project, name));
  yield* change('DELETE FROM main.ledger_state WHERE name IN LIST(?) OR lineage IN LIST(?)', [states, lineages]);
  const known = new Set(states);
  yield* eraseWaiting((name) => known.has(name));
}

/** Deletes unbilled requests, by the names of their states. */
function* eraseWaiting(isOwn: (name: string) => boolean): Steps<void> {
  const waiting = yield* all<{ id: number; names: string }>('SELECT id, names FROM main.ledger_waiting');
  const own = waiting.filter(({ names }) => (JSON.parse(names) as string[]).some(isOwn));
  yield* change('DELETE FROM main.ledger_waiting WHERE id IN LIST(?)', [own.map(({ id }) => id)]);
}

/** Tables whose rows name their project, except those of conversations. */
const PROJECT_ROWS: readonly [table: string, key: string][] = [
  ['ledger_turn', 'id'],
  ['compaction', 'id'],
  ['tool_shelf_conversation', 'id'],
];

/** Deletes some of a project's other rows; returns whether there may be more. */
export function* eraseProjectRows(project: string): Steps<boolean> {
  yield* turn('ledger');
  // includes conversations that no other table names: without examined texts, failed, expired
  const prefix = `conversation\n${project}\n`;
  yield* change('DELETE FROM main.ledger_state WHERE substr(name, 1, length(CAST(? AS text))) = ?', [prefix, prefix]);
  yield* eraseWaiting((name) => name.startsWith(prefix));
  let most = 0;
  for (const [table, key] of PROJECT_ROWS) {
    const some = `SELECT ${key} FROM main.${table} WHERE project = ? LIMIT ${ROWS}`;
    most = Math.max(most, yield* change(`DELETE FROM main.${table} WHERE ${key} IN (${some})`, [project]));
  }
  yield* change('DELETE FROM main.ledger_sum WHERE project = ?', [project]);
  yield* change('DELETE FROM main.directive WHERE FIRST_LINE(project) = ?', [project]);
  yield* change('DELETE FROM main.step WHERE FIRST_LINE(project) = ?', [project]);
  yield* change('DELETE FROM main.directive_generation WHERE FIRST_LINE(project) = ?', [project]);
  return most === ROWS;
}

/** Removes a key or signed-in user from bills; returns whether there may be more. */
export function* forgetPayer(keyId: string): Steps<boolean> {
  yield* turn('ledger');
  yield* change("DELETE FROM main.ledger_sum WHERE slice = 'key' AND key = ?", [keyId]);
  const some = `SELECT id FROM main.ledger_turn WHERE key_id = ? AND key_id <> '' LIMIT ${ROWS}`;
  return (yield* change(`UPDATE main.ledger_turn SET key_id = '' WHERE id IN (${some})`, [keyId])) === ROWS;
}

/**
 * Deletes sent-message records that name one of the prunes, from a row number on, because a cut's reason may contain
 * words of the text. No table says whose record it is once its texts have expired, so those go too.
 *
 * @param expiredMs - expiry of records that were last used a text's lifetime ago
 * @returns the number of the last row read, or `null` at the end
 */
export function* eraseSent(pruneIds: ReadonlySet<string>, expiredMs: number, after: number): Steps<number | null> {
  const rows = yield* all<{ id: number; body: string; expires_ms: number }>(
    `SELECT id, body, expires_ms FROM main.sent WHERE id > ? ORDER BY id LIMIT ${ROWS}`,
    [after],
  );
  const old = rows.filter(({ expires_ms }) => Number(expires_ms) <= expiredMs);
  const stored = yield* all<PruneRow>('SELECT prune_id FROM main.prune WHERE prune_id IN LIST(?)', [
    [...new Set(old.flatMap(({ body }) => pruneIdsIn(body)))],
  ]);
  const known = new Set(stored.map(({ prune_id }) => prune_id));
  const isOrphan = ({ body }: { readonly body: string }): boolean => pruneIdsIn(body).some((id) => !known.has(id));
  const gone = [...rows.filter(({ body }) => pruneIdsIn(body).some((id) => pruneIds.has(id))), ...old.filter(isOrphan)];
  if (gone.length > 0) yield* change('DELETE FROM main.sent WHERE id IN LIST(?)', [gone.map(({ id }) => id)]);
  return rows.length < ROWS ? null : (rows.at(-1)?.id ?? null);
}

/** Deletes stored answers that may contain lines of texts, and all of the project's. */
export function* eraseReplies(project: string): Steps<void> {
  yield* change("DELETE FROM main.reply WHERE text LIKE '%prn!_%' ESCAPE '!' OR FIRST_LINE(key) = ?", [project]);
}

/**
 * Deletes some decisions to leave texts whole. They contain user words and name no project; requests recreate them if
 * needed. @returns the number of deleted decisions
 */
export function* eraseWholeDecisions(beforeMs = Number.MAX_SAFE_INTEGER): Steps<number> {
  const some = `SELECT id FROM main.decision WHERE prune IS NULL AND expires_ms <= ? ORDER BY expires_ms LIMIT ${ROWS}`;
  return yield* change(`DELETE FROM main.decision WHERE id IN (${some})`, [beforeMs]);
}

/** Deletes a revoked or expired key with its counters; returns whether it existed. */
export function* eraseKey(keyId: string, nowMs: number): Steps<boolean> {
  const ended = 'id = ? AND (revoked_ms IS NOT NULL OR expires_ms <= ?)';
  return (yield* change(`DELETE FROM main.access_key WHERE ${ended}`, [keyId, nowMs])) > 0;
}

/** Removes a project's settings with their history. */
export function* eraseSettings(project: string): Steps<void> {
  yield* change('DELETE FROM main.project_setting WHERE project = ?', [project]);
}
