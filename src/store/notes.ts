import { each, one, type Rows, type Steps } from './sql/steps.ts';

/** Stores a state; its time never goes back. */
export const PUT_STATE = `INSERT INTO main.ledger_state AS s (name, lineage, at_ms, version, data) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET lineage = excluded.lineage, version = excluded.version, data = excluded.data,
    at_ms = CASE WHEN s.at_ms < excluded.at_ms THEN excluded.at_ms ELSE s.at_ms END`;
const READ_STATE = 'SELECT data FROM main.ledger_state WHERE name = ?';

function keyOf(name: string): string {
  return `note\n${name}`;
}

/** The short text stored under a name, or `null`. @throws StoreUnavailable */
export async function readNote(rows: Pick<Rows, 'all'>, name: string): Promise<string | null> {
  const [row] = await rows.all<{ data: string }>(READ_STATE, [keyOf(name)]);
  return row?.data ?? null;
}

/** See `StoreHandle.replaceNote`. Stored as a state that never expires. */
export function* replaceNote(name: string, text: string): Steps<string | null> {
  const key = keyOf(name);
  const before = yield* one<{ data: string }>(READ_STATE, [key]);
  yield* each(PUT_STATE, [[key, '', Number.MAX_SAFE_INTEGER, 1, text]]);
  return before?.data ?? null;
}
