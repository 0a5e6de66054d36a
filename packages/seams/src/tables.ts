import { storeReason } from 'mcp-pruner/errors/errors.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import { change, type Steps } from 'mcp-pruner/store/sql/steps.ts';

/**
 * A compaction of a conversation. `prefix` is the hash of the `messages` that it stands for, as the client sends them;
 * `block` the JSON that replaces them, as the provider sent it. `line` and `line_prefix`: the text that says what is gone,
 * and the message that it stands behind. `used_messages`: number of messages in the first request with the block. Token
 * counts and dollars are those of the compaction itself; `read_again`: tokens of replaced files that were read again.
 */
const TABLES = `
  CREATE TABLE main.seam_compaction (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    conversation TEXT NOT NULL,
    shown TEXT NOT NULL,
    key_id TEXT NOT NULL,
    wire TEXT NOT NULL,
    model TEXT NOT NULL,
    host TEXT NOT NULL,
    prefix TEXT NOT NULL,
    messages INTEGER NOT NULL,
    state TEXT NOT NULL,
    cause TEXT NOT NULL,
    block TEXT NOT NULL,
    line TEXT NOT NULL,
    line_prefix TEXT NOT NULL,
    pictures INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    left_over INTEGER NOT NULL,
    dollars REAL NOT NULL,
    asked_ms INTEGER NOT NULL,
    ready_ms INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    used_messages INTEGER NOT NULL,
    read_again INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX seam_compaction_conversation ON main.seam_compaction (project, conversation, id);
  CREATE INDEX seam_compaction_asked ON main.seam_compaction (asked_ms);
`;

export const COLUMNS =
  'project conversation shown key_id wire model host prefix messages state cause block line line_prefix pictures weight left_over dollars asked_ms ready_ms used_ms used_messages read_again'.split(
    ' ',
  );

/**
 * Reads this part's tables. A file of an earlier version has none until a server opens it.
 *
 * @throws StoreUnavailable
 */
export async function orNone<T>(read: Promise<T>, none: T): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    if (storeReason(cause) === 'corrupt') return none;
    throw cause;
  }
}

/** Like the records of what was sent, a block outlives the originals: it stays this long after the last request. */
const TTL_MS = 90 * 86_400_000;
const UNUSED = `
  SELECT c.id FROM main.seam_compaction c WHERE c.project = coalesce(?, c.project) AND CASE WHEN c.used_ms > c.asked_ms THEN c.used_ms ELSE c.asked_ms END < ?
    AND NOT EXISTS (SELECT 1 FROM main.ledger_turn t WHERE t.conversation = c.shown AND t.project = c.project AND t.at_ms >= ?)
  ORDER BY c.id LIMIT ?`;

export const seamTables: PartTables = {
  common: TABLES,
  sqlite: '',
  postgres: async () => '',
  moved: [['seam_compaction', 'id', `id ${COLUMNS.join(' ')}`, 'project conversation shown model block line', 20]],
  numbered: { seam_compaction: 'id' },
  afterMove: [],
  *eraseNames(subject): Steps<void> {
    if ('payer' in subject) {
      yield* change("UPDATE main.seam_compaction SET key_id = '' WHERE key_id = ? AND key_id <> ''", [subject.payer]);
    } else if (subject.conversations === 'all') {
      yield* change('DELETE FROM main.seam_compaction WHERE project = ?', [subject.project]);
    } else {
      yield* change('DELETE FROM main.seam_compaction WHERE project = ? AND shown IN LIST(?)', [
        subject.project,
        subject.conversations,
      ]);
    }
  },
  sweep: (nowMs, _ttlMs, limit) => deleteUnused(null, Math.trunc(nowMs - TTL_MS), limit),
  expireTexts: deleteUnused,
};

function deleteUnused(project: string | null, beforeMs: number, limit: number): Steps<number> {
  return change(`DELETE FROM main.seam_compaction WHERE id IN (${UNUSED})`, [project, beforeMs, beforeMs, limit]);
}
