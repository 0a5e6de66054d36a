import type { Finding } from '../../app/finding.ts';
import type { Settings } from '../../config/settings.ts';
import { pricesOf } from '../../ledger/installed-prices.ts';
import type { Prices } from '../../ledger/prices.ts';
import type { Io } from '../command.ts';
import { findingsOfMonth } from './month.ts';

/**
 * Whether the file of prices that the settings name can be used, and which models of the last month have no price; says
 * nothing where there is nothing to say.
 */
export async function checkPrices(settings: Settings, io: Io): Promise<Finding[]> {
  const prices = pricesOf(settings);
  const { problems, warnings } = prices;
  const advice = 'correct the file, or set MCP_PRUNER_PRICES to another one; all other prices still apply';
  return [
    ...problems.map((what) => ({ level: 'failure', what, advice }) as const),
    ...warnings.map((what) => ({ level: 'note', what }) as const),
    ...(await unpriced(settings, io, prices)),
  ];
}

/** Models of the last month without a price, or without one for some of their tokens. */
function unpriced(settings: Settings, io: Io, prices: Prices): Promise<Finding[]> {
  return findingsOfMonth(settings, io, async ({ ledger }, sinceDay) => {
    const { reportOf } = await import('../../ledger/report.ts');
    const sums = await ledger.sums({ sinceDay, slice: 'model' });
    const advice = 'MCP_PRUNER_PRICES names a file with their prices';
    return reportOf({ sinceDay }, sums, [], [], {
      problems: [],
      pricesShort: (model) => prices.pricesShort(model),
    }).notes.map((what) => ({ level: 'note', what, advice }) as const);
  });
}
