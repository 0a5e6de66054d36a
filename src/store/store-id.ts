import type { Rows } from './sql/rows.ts';

/**
 * Random id of a store, created with its schema and identical for all processes that use it; `null` if the store
 * predates ids. Reveals nothing about location or content.
 *
 * @throws StoreUnavailable
 */
export async function storeIdIn(rows: Rows): Promise<string | null> {
  const found = await rows.all<{ readonly value: number }>("SELECT value FROM main.meter WHERE name = 'store_id'");
  return found[0]?.value.toString(36) ?? null;
}
