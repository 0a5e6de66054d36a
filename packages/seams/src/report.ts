import type { SeamsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import type { Prices } from 'mcp-pruner/ledger/prices.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { readFinished, type SeamsQuery } from './finished.ts';

/** The part's figures in `report`. @throws StoreUnavailable */
export async function readSeams(
  { sql }: Pick<StoreHandle, 'sql'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<SeamsReport> {
  return { seams: await readFinished(sql, prices, query) };
}
