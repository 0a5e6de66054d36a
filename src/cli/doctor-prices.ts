import { pricesOf } from '../app/ledger.ts';
import type { Settings } from '../config/settings.ts';
import type { Finding } from './finding.ts';

/** Whether the file of prices that the settings name can be used; says nothing where there is nothing to say. */
export function checkPrices(settings: Pick<Settings, 'prices'>): Finding[] {
  const { problems, warnings } = pricesOf(settings);
  const advice = 'correct the file, or let MCP_PRUNER_PRICES name another; all other prices hold';
  return [
    ...problems.map((what) => ({ level: 'failure', what, advice }) as const),
    ...warnings.map((what) => ({ level: 'note', what }) as const),
  ];
}
