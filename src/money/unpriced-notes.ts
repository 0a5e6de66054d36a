import { plural } from '../base/counts.ts';
import type { LedgerModel } from '../core/ports/ledger-report.ts';

/** Maximum number of unpriced models named in notes. */
const MAX_UNPRICED = 10;

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
