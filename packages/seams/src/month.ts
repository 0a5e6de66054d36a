import type { Prices } from '@mcp-pruner/money/prices.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { readFinished } from './finished.ts';
import { readMade } from './report.ts';
import type { MonthShown } from './shapes.ts';

/** @param projects - those of the viewer; all if absent. @throws StoreUnavailable */
export async function readMonth(
  { sql, ledger, compactions: ofClients }: Pick<StoreHandle, 'sql' | 'ledger' | 'compactions'>,
  prices: Pick<Prices, 'of'>,
  nowMs: number,
  projects?: readonly string[],
): Promise<MonthShown> {
  const sinceDay = `${new Date(nowMs).toISOString().slice(0, 7)}-01`;
  const query = { sinceMs: Date.parse(sinceDay), nowMs, projects };
  const [{ weight_usd }, { compactions, payback }, sums] = await Promise.all([
    readFinished(sql, prices, query),
    readMade({ sql, compactions: ofClients }, prices, query),
    ledger.sums({ sinceDay, slice: 'all' }),
  ]);
  const dollars = sums.reduce(
    (sum, { field, value, project }) =>
      field === 'dollars' && projects?.includes(project) !== false ? sum + value : sum,
    0,
  );
  return { finished: weight_usd, dollars, compactions, payback };
}
