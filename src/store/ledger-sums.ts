import type { LedgerSum, Others } from '../core/ports/ledger.ts';

const OTHERS: Others = '(others)';
/** Figures that a store keeps of one day at most: names of projects, models and tools come from clients. */
const MAX_SUMS_PER_DAY = 20_000;
/** Of these, kept free: for further figures of what is there already, for `(others)`, and for `(others)` of all names. */
const KEPT_FOR_KNOWN = 4_000;
const KEPT_FOR_OTHERS = 3_000;
const KEPT_FOR_UNNAMED = 1_000;

/** Figures that a store has of a day. */
export interface DayOfSums {
  count: number;
  has(sum: LedgerSum): boolean;
  /** Whether there is any figure of this project and part. */
  hasPart(sum: LedgerSum): boolean;
}

/** Whether a day has room for figures, whatever they are. */
export function hasRoom(count: number, more: number): boolean {
  return count + more <= MAX_SUMS_PER_DAY - KEPT_FOR_KNOWN;
}

/**
 * Figures as they are added to a day that is nearly full. What finds no room is added to the project `(others)` under its own
 * name, and where even that has none, under the name `(others)`: no figure is left out, and totals by day and by cause stay
 * whole, and those by model and by tool as long as there are not thousands of names.
 */
export function folded(
  sums: readonly LedgerSum[],
  day: DayOfSums,
): { readonly sums: LedgerSum[]; readonly folded: number } {
  const added = new Set<string>();
  let moved = 0;
  const takes = (sum: LedgerSum, limit: number): boolean => {
    const id = idOf(sum);
    if (added.has(id) || day.has(sum)) return true;
    if (day.count >= limit) return false;
    added.add(id);
    day.count++;
    return true;
  };
  const placed = sums.map((sum) => {
    const kept = day.hasPart(sum) ? KEPT_FOR_OTHERS : KEPT_FOR_KNOWN;
    if (takes(sum, MAX_SUMS_PER_DAY - kept)) return sum;
    moved++;
    const other = { ...sum, project: OTHERS };
    if (takes(other, MAX_SUMS_PER_DAY - KEPT_FOR_UNNAMED)) return other;
    const unnamed = { ...other, key: sum.key === '' ? '' : OTHERS };
    takes(unnamed, MAX_SUMS_PER_DAY);
    return unnamed;
  });
  return { sums: placed, folded: moved };
}

/** What identifies a figure, and the part of a day that it belongs to. */
export function idOf({ day, project, slice, key, field }: LedgerSum): string {
  return [day, project, slice, key, field].join('\0');
}

/** All names under which a figure may be kept. */
export function namesOf(sum: LedgerSum): LedgerSum[] {
  return [sum, { ...sum, project: OTHERS }, { ...sum, project: OTHERS, key: sum.key === '' ? '' : OTHERS }];
}
