import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { SeamsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import type { Prices } from 'mcp-pruner/money/prices.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { readFinished, type SeamsQuery } from './finished.ts';
import { NO_COMPACTIONS, readCompactions } from './saved.ts';
import { orNone } from './tables.ts';

/** The part's figures in `report`. @throws StoreUnavailable */
export async function readSeams(
  store: Pick<StoreHandle, 'sql' | 'compactions'>,
  { seams, seamTokens }: Pick<Settings, 'seams' | 'seamTokens'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<SeamsReport> {
  const finished = await readFinished(store.sql, prices, query);
  const made = await readMade(store, prices, query);
  return { seams: { setting: seams, threshold_tokens: seamTokens, ...finished, ...made } };
}

/** What summaries cost and saved, and how often clients compacted themselves. @throws StoreUnavailable */
export async function readMade(
  { sql, compactions: ofClients }: Pick<StoreHandle, 'sql' | 'compactions'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<Pick<SeamsReport['seams'], 'compactions' | 'payback'>> {
  const by_client = (await ofClients.since(query)).length;
  // last: a table that is missing ends the connection
  const { compactions, payback } = await orNone(readCompactions(sql, prices, query), NO_COMPACTIONS);
  return { compactions, payback: { ...payback, by_client } };
}
