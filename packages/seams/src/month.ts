import type { Prices } from 'mcp-pruner/ledger/prices.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { readFinished } from './finished.ts';
import type { MonthShown } from './shapes.ts';

/** @throws StoreUnavailable */
export async function readMonth(
  { sql, ledger }: Pick<StoreHandle, 'sql' | 'ledger'>,
  prices: Pick<Prices, 'of'>,
  nowMs: number,
): Promise<MonthShown> {
  const sinceDay = `${new Date(nowMs).toISOString().slice(0, 7)}-01`;
  const [{ weight_usd }, sums] = await Promise.all([
    readFinished(sql, prices, { sinceMs: Date.parse(sinceDay), nowMs }),
    ledger.sums({ sinceDay, slice: 'all' }),
  ]);
  const dollars = sums.reduce((sum, { field, value }) => (field === 'dollars' ? sum + value : sum), 0);
  return { finished: weight_usd, dollars };
}
