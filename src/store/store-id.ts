import type { Rows } from './sql/rows.ts';

/**
 * Random id of a store, created with its schema and the same in every process that uses the store. `null` for a store
 * from before ids existed. It reveals nothing about the store's location or content.
 *
 * @throws StoreUnavailable
 */
export async function storeIdIn(rows: Rows): Promise<string | null> {
  const found = await rows.all<{ readonly value: number }>("SELECT value FROM main.meter WHERE name = 'store_id'");
  return found[0]?.value.toString(36) ?? null;
}
