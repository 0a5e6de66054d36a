import type { PendingUses, Use } from 'mcp-pruner/store/lifetimes.ts';
import type { Database, Queryable } from './database.ts';

const STEP_USES = 2_000;

/** Writes pending uses, oldest first; returns whether more remain. */
export async function writeUses(database: Database, uses: PendingUses): Promise<boolean> {
  const pending = uses.pending(STEP_USES);
  if (pending.length === 0) return false;
  await database.transaction(async (client) => {
    const of = (kind: Use['kind']): readonly Use[] => pending.filter((use) => use.kind === kind);
    await slide(client, 'prune', 'prune_id', of('prune'));
    await slide(client, 'decision', 'key', of('whole'));
    await slide(client, 'sent', 'prefix', of('sent'));
    await slideServed(client, of('served'));
  }, STEP_WAIT_MS);
  uses.written(pending);
  return uses.size > 0;
}

/** Assigns new numbers, so that other replicas notice the change. */
async function slideServed(client: Queryable, uses: readonly Use[]): Promise<void> {
  if (uses.length === 0) return;
  await client.query(
    `WITH base AS (SELECT mcp_pruner.next_seq('served', $3) AS seq)
     UPDATE mcp_pruner.served t SET expires_ms = greatest(t.expires_ms, u.until), id = base.seq + u.n
     FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY u (name, until, n), base WHERE t.hash = u.name`,
    [uses.map(({ id }) => id), uses.map(({ expiresMs }) => expiresMs), uses.length],
  );
}

/** Updates expiries. Locked rows are not skipped, because their use would be lost; rows are locked in a fixed order. */
async function slide(client: Queryable, table: string, column: string, uses: readonly Use[]): Promise<void> {
  if (uses.length === 0) return;
  await client.query(
    `UPDATE mcp_pruner.${table} t SET expires_ms = greatest(t.expires_ms, u.until) FROM (
       SELECT x.id, v.until FROM unnest($1::text[], $2::bigint[]) v (name, until)
       JOIN mcp_pruner.${table} x ON x.${column} = v.name ORDER BY x.${column} FOR NO KEY UPDATE OF x) u WHERE t.id = u.id`,
    [uses.map(({ id }) => id), uses.map(({ expiresMs }) => expiresMs)],
  );
}

export const STEP_WAIT_MS = 10_000;
