import type { ProjectRetention } from '../../core/ports/project-settings.ts';
import type { PartTables } from '../part-tables.ts';
import { all, change, type Sql, type Steps } from '../sql/steps.ts';
import { linkedPrunes } from './links.ts';
import { eraseConversations, eraseReplies, eraseSent, eraseWholeDecisions, releasePrunes } from './steps.ts';

const DAY_MS = 86_400_000;
const CONVERSATIONS = 20;
const PRUNES = 10;
const ROWS = 500;
const WAIT_MS = 5_000;

/** Prunes of a project that expire before a given time, regardless of the conversation that stored them. */
const UNUSED = `
  SELECT p.prune_id FROM main.prune_owner o JOIN main.prune p ON p.id = o.prune WHERE o.project = ? AND p.expires_ms < ?
  UNION SELECT p.prune_id FROM main.recall r JOIN main.prune p ON p.id = r.prune WHERE r.project = ? AND p.expires_ms < ?
  LIMIT ${PRUNES}`;

/**
 * Deletes some data beyond a project's retention, in one step.
 *
 * @param ttlMs - lifetime of a prune after its last use. The expiry moves in steps of at most an eighth of it
 * @returns whether there is more to do
 */
export async function expireProject(
  sql: Sql,
  { project, textDays, ledgerDays, auditDays }: ProjectRetention,
  ttlMs: number,
  parts: readonly PartTables[],
): Promise<boolean> {
  const before = (days: number): number => Math.trunc(sql.nowMs() - days * DAY_MS);
  let more = false;
  if (textDays !== undefined) {
    const beforeMs = before(textDays);
    more = await expireTexts(sql, project, beforeMs, ttlMs);
    for (const { expireTexts: expire } of parts)
      if (expire) more = (await sql.write(() => expire(project, beforeMs, ROWS), WAIT)) === ROWS || more;
  }
  if (ledgerDays !== undefined) more = (await sql.write(() => expireBills(project, before(ledgerDays)), WAIT)) || more;
  if (auditDays !== undefined) more = (await sql.write(() => expireEvents(project, before(auditDays)), WAIT)) || more;
  return more;
}

const WAIT = { waitMs: WAIT_MS };

async function expireTexts(sql: Sql, project: string, beforeMs: number, ttlMs: number): Promise<boolean> {
  const rows = await sql.all<{ name: string }>(
    `SELECT DISTINCT c.name FROM main.conversation c WHERE FIRST_LINE(c.project) = ? AND c.seen_ms < ? LIMIT ${CONVERSATIONS}`,
    [project, beforeMs],
  );
  const conversations = rows.map(({ name }) => name);
  const owner = { project, conversations, whole: false };
  const linked = conversations.length === 0 ? [] : await sql.read(() => linkedPrunes(owner));
  const gone = new Set<string>();
  for (let at = 0; at < linked.length; at += PRUNES) {
    for (const id of await sql.write(() => releasePrunes(owner, linked.slice(at, at + PRUNES)), WAIT)) gone.add(id);
  }
  if (conversations.length > 0) await sql.write(() => eraseConversations(project, conversations), WAIT);
  const expiresMs = Math.trunc(beforeMs + ttlMs - ttlMs / 8);
  const unused = await sql.all<{ prune_id: string }>(UNUSED, [project, expiresMs, project, expiresMs]);
  const ids = unused.map(({ prune_id }) => prune_id);
  const all = { project, conversations: [], whole: true };
  if (ids.length > 0) for (const id of await sql.write(() => releasePrunes(all, ids), WAIT)) gone.add(id);
  const whole = await sql.write(() => eraseWholeDecisions(expiresMs), WAIT);
  if (gone.size > 0) {
    await sql.write(() => eraseReplies(project), WAIT);
    for (let after: number | null = 0; after !== null; ) {
      const from: number = after;
      after = await sql.write(() => eraseSent(gone, 0, from), WAIT);
    }
  }
  return conversations.length === CONVERSATIONS || ids.length === PRUNES || whole === ROWS;
}

function* expireBills(project: string, beforeMs: number): Steps<boolean> {
  const day = new Date(beforeMs).toISOString().slice(0, 10);
  yield* change("DELETE FROM main.ledger_sum WHERE project = ? AND slice = 'key' AND day < ?", [project, day]);
  const old = `SELECT id FROM main.ledger_turn WHERE project = ? AND at_ms < ? LIMIT ${ROWS}`;
  return (yield* change(`DELETE FROM main.ledger_turn WHERE id IN (${old})`, [project, beforeMs])) === ROWS;
}

function* expireEvents(project: string, beforeMs: number): Steps<boolean> {
  const old = yield* all<{ seq: number }>(
    `SELECT seq FROM main.event WHERE project IS NOT NULL AND project = ? AND ts_ms < ? ORDER BY seq LIMIT ${ROWS}`,
    [project, beforeMs],
  );
  yield* change('DELETE FROM main.event WHERE seq IN LIST(?)', [old.map(({ seq }) => seq)]);
  return old.length === ROWS;
}
