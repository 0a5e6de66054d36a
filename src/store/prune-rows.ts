import type { PruneSummary } from '../core/ports/records.ts';
import type { Decision, StoredPrune } from '../core/ports.ts';
import { decodeBody } from './decision-codec.ts';
import type { Rows } from './sql/steps.ts';

/** A row in a list of prunes. */
export interface ListedRow {
  readonly id: number;
  readonly prune_id: string;
  readonly decision_key: string;
  readonly body: string;
  readonly created_ms: number;
  readonly expires_ms: number;
}

export const LISTED = 'id, prune_id, decision_key, body, created_ms, expires_ms';

/** Excludes texts that are stored only for searches and have no cuts under this id. */
export const IS_CUT = 'NOT EXISTS (SELECT 1 FROM main.recall WHERE prune = prune.id)';

/** @throws StoreUnavailable `corrupt` for a damaged row */
export function summaryOf(rows: Rows, row: ListedRow): PruneSummary {
  const { tool, sourceType, lines, keptLines } = decodeBody(row.decision_key, row.prune_id, row.body);
  const expiresMs = rows.expiry('prune', row.prune_id, row.expires_ms);
  return { pruneId: row.prune_id, tool, sourceType, lines, keptLines, createdMs: row.created_ms, expiresMs };
}

/** See `Store.findPrune`. */
export async function findPrune(rows: Rows, pruneId: string): Promise<StoredPrune | null> {
  const [row] = await rows.all<ListedRow>(`SELECT ${LISTED} FROM main.prune WHERE prune_id = ?`, [pruneId]);
  if (!row) return null;
  const expiresAtMs = rows.expiry('prune', pruneId, row.expires_ms);
  if (expiresAtMs <= rows.nowMs()) return null;
  const first = decodeBody(row.decision_key, row.prune_id, row.body);
  const decision = first.cuts.length > 0 ? first : ((await laterCut(rows, row)) ?? first);
  return { decision, createdAtMs: row.created_ms, expiresAtMs };
}

/** The newest decision that cut a text which was stored whole before, as recall does. */
async function laterCut(rows: Rows, { id, prune_id: pruneId }: ListedRow): Promise<Decision | undefined> {
  const [later] = await rows.all<{ key: string; body: string }>(
    'SELECT key, body FROM main.decision WHERE prune = ? AND body IS NOT NULL ORDER BY id DESC LIMIT 1',
    [id],
  );
  return later && decodeBody(later.key, pruneId, later.body);
}
