import type { Rows } from './rows.ts';

/**
 * Random id of a store, made with its schema; the same in every process that uses the store. `null` for a store made before
 * stores had one. It reveals nothing of the store's place or content.
 *
 * @throws StoreUnavailable
 */
export async function storeIdIn(rows: Rows): Promise<string | null> {
  const found = await rows.all<{ readonly value: number }>("SELECT value FROM main.meter WHERE name = 'store_id'");
  return found[0]?.value.toString(36) ?? null;
}
