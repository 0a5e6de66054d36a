import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import { SEAM_TOKENS } from '@mcp-pruner/money/thresholds.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { SeamsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { readFinished, type SeamsQuery } from './finished.ts';
import { NO_COMPACTIONS, readCompactions, readHoldout } from './saved.ts';
import { orNone } from './tables.ts';

/** The part's figures in `report`. @throws StoreUnavailable */
export async function readSeams(
  store: Pick<StoreHandle, 'sql' | 'compactions'>,
  settings: Pick<Settings, 'seams' | 'seamTokens' | 'prices'>,
  {
    sinceMs,
    nowMs,
    project,
  }: { readonly sinceMs: number; readonly nowMs: number; readonly project?: string | undefined },
): Promise<SeamsReport> {
  const query = { sinceMs, nowMs, ...(project !== undefined && { projects: [project] }) };
  const { seams, seamTokens } = settings;
  const prices = pricesOf(settings);
  const finished = await readFinished(store.sql, prices, query);
  const made = await readMade(store, prices, query);
  const tokens = seamTokens === 'auto' ? SEAM_TOKENS : seamTokens;
  const holdout = made.compactions.made === 0 ? null : await readHoldout(store.sql, query, tokens);
  return { seams: { setting: seams, threshold_tokens: seamTokens, ...finished, ...made, holdout } };
}

/** What summaries cost and saved, and how often clients compacted themselves. @throws StoreUnavailable */
export async function readMade(
  { sql, compactions: ofClients }: Pick<StoreHandle, 'sql' | 'compactions'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<Pick<SeamsReport['seams'], 'compactions' | 'payback'>> {
  const { sinceMs, projects } = query;
  const asked = projects === undefined ? [{ sinceMs }] : projects.map((project) => ({ sinceMs, project }));
  const by_client = (await Promise.all(asked.map((one) => ofClients.since(one)))).flat().length;
  // last: a table that is missing ends the connection
  const { compactions, payback } = await orNone(readCompactions(sql, prices, query), NO_COMPACTIONS);
  return { compactions, payback: { ...payback, by_client } };
}
