import { sessionIn } from '../base/conversation-ids.ts';
import { plainProject } from './ledger-rows.ts';
import type { Rows } from './sql/steps.ts';

/** Number of the newest requests whose conversations are known. */
const NEWEST = 5_000;

/** The conversations of the newest requests that named no session, by project and name. @throws StoreUnavailable */
export async function knownConversations(rows: Rows): Promise<(project: string, name: string) => boolean> {
  const found = await rows.all<{ readonly project: string; readonly name: string }>(
    `SELECT DISTINCT project, conversation AS name FROM
       (SELECT project, conversation FROM main.ledger_turn ORDER BY id DESC LIMIT ${NEWEST}) newest`,
  );
  const known = new Set(
    found.flatMap(({ project, name }) => (sessionIn(name) === '' ? keyOf(plainProject(project), name) : [])),
  );
  return (project, name) => known.has(keyOf(project, name));
}

/** Hashes of all sessions with requests in the ledger, or with recorded texts. @throws StoreUnavailable */
export async function knownSessions(rows: Rows): Promise<ReadonlySet<string>> {
  const found = await rows.all<{ readonly start: string }>(
    `SELECT substr(conversation, 1, 13) AS start FROM main.ledger_turn
     UNION SELECT substr(name, 1, 13) AS start FROM main.conversation`,
  );
  return new Set(found.map(({ start }) => sessionIn(start)).filter((session) => session !== ''));
}

function keyOf(project: string, name: string): string {
  return `${project}\n${name}`;
}
