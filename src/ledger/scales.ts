import type { LedgerSum } from '../core/ports/ledger.ts';
import { KIND_MARK } from './figures.ts';
import { ModelScale } from './model-scale.ts';

/** Scales of models by their figures of some days: for a store that kept no scales when they were added up. */
export function scalesOf(sums: readonly LedgerSum[]): ReadonlyMap<string, ModelScale> {
  const scales = new Map<string, ModelScale>();
  const kinds = new Map<string, { scale: ModelScale; kind: string; reported: number; guessed: number }>();
  for (const { slice, key, field, value } of sums) {
    if (slice !== 'model') continue;
    const scale = scales.get(key) ?? new ModelScale();
    scales.set(key, scale);
    const [name = '', kind] = field.split(KIND_MARK, 2);
    if (kind !== undefined) {
      const of = kinds.get(`${key}\0${kind}`) ?? { scale, kind, reported: 0, guessed: 0 };
      if (name === 'reported' || name === 'guessed') of[name] += value;
      kinds.set(`${key}\0${kind}`, of);
    } else if (field === 'checkedExact') scale.check({ exact: value, estimated: 0 });
    else if (field === 'checkedEstimated') scale.check({ exact: 0, estimated: value });
    else if (field === 'cacheReported') scale.sawCache(value > 0);
    else if (field === 'reported') scale.know({ reported: value, guessed: 0 });
    else if (field === 'guessed') scale.know({ reported: 0, guessed: value });
  }
  for (const { scale, kind, ...counted } of kinds.values()) scale.knowKind(kind, counted);
  return scales;
}
