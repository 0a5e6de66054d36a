import type { SeamsReport } from '../../core/ports/seams-report.ts';
import type { Prices } from '../../ledger/prices.ts';
import type { StoreHandle } from '../../store/handle.ts';
import { readFinished, type SeamsQuery } from './finished.ts';

/** The part's figures in `report`. @throws StoreUnavailable */
export async function readSeams(
  { sql }: Pick<StoreHandle, 'sql'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<SeamsReport> {
  return { seams: await readFinished(sql, prices, query) };
}
