import type { ShortConversation } from '../core/ports/short-tools.ts';
import { change, type Sql } from './sql/steps.ts';

/** Conversations without a request for this long are deleted. */
const KEPT_MS = 90 * 86_400_000;

/** Conversations with shortened tools, newest first. @throws StoreUnavailable */
export async function shortConversations(sql: Sql): Promise<readonly ShortConversation[]> {
  const rows = await sql.all<{ readonly project: string; readonly conversation: string; readonly cuts: string }>(
    `SELECT project, conversation, cuts FROM main.tool_shelf_conversation WHERE cuts <> '[]' ORDER BY seen_ms DESC`,
    [],
  );
  return rows.map((row) => ({ ...row, cuts: JSON.parse(row.cuts) as ShortConversation['cuts'] }));
}

/** Extends a conversation's record, and deletes those that ended. @throws StoreUnavailable */
export async function shortConversationSeen(sql: Sql, one: ShortConversation, atMs: number): Promise<void> {
  await sql.write(function* () {
    yield* change('UPDATE main.tool_shelf_conversation SET seen_ms = ? WHERE project = ? AND conversation = ?', [
      ...[atMs, one.project, one.conversation],
    ]);
    yield* change('DELETE FROM main.tool_shelf_conversation WHERE seen_ms < ?', [atMs - KEPT_MS]);
  });
}
