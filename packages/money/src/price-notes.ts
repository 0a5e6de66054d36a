import { plural } from 'mcp-pruner/base/counts.ts';
import type { LedgerModel } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { Prices } from './prices.ts';

/** Maximum number of unpriced models named in notes. */
const MAX_UNPRICED = 10;

/** One line for each model without a price, or without a price for some of its tokens. */
export function priceNotes(
  models: readonly Pick<LedgerModel, 'model' | 'unpriced' | 'write1h'>[],
  prices?: Prices,
): string[] {
  return [...unpricedNotes(models), ...shortNotes(models, prices)];
}

/** One line for each of the most used models without a price. */
export function unpricedNotes(models: readonly Pick<LedgerModel, 'model' | 'unpriced'>[]): string[] {
  const without = models.filter(({ unpriced }) => unpriced > 0).toSorted((a, b) => b.unpriced - a.unpriced);
  const others = without.length - MAX_UNPRICED;
  return [
    ...without
      .slice(0, MAX_UNPRICED)
      .map(({ model, unpriced }) => `${plural(unpriced, 'request')} of ${model || '(no model)'} without a price`),
    ...(others > 0 ? [`and ${plural(others, 'other model')}`] : []),
  ];
}

/** One line per model without a price for the longer lifetime of its cache writes. */
function shortNotes(models: readonly Pick<LedgerModel, 'model' | 'write1h'>[], prices: Prices | undefined): string[] {
  return models
    .filter(({ model, write1h }) => write1h > 0 && prices?.pricesShort(model))
    .map(({ model, write1h }) => {
      const tokens = `${plural(Math.round(write1h), 'token')} of ${model}`;
      return `${tokens}, written to the cache with a long lifetime, are priced short: no price is known`;
    });
}
