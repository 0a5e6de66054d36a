import type { LedgerSum, Others } from '../core/ports/ledger-store.ts';

const OTHERS: Others = '(others)';
/** Most figures of one day, because names of projects, models and tools come from clients. */
const MAX_SUMS_PER_DAY = 20_000;
/**
 * Reserved part of these: for updates of existing figures, for `(others)` per name, and for `(others)` over all names.
 */
const KEPT_FOR_KNOWN = 4_000;
const KEPT_FOR_OTHERS = 3_000;
const KEPT_FOR_UNNAMED = 1_000;

/** The stored figures of a day. */
export interface DayOfSums {
  count: number;
  has(sum: LedgerSum): boolean;
  /** Whether any figure of this project and slice exists. */
  hasPart(sum: LedgerSum): boolean;
}

/**
 * Figures of keys are outside the limit of a day: an administrator issues keys, and budgets are counted by them. So that names
 * of projects do not multiply them, they go where the project's own figures go.
 */
function splitKeys(sums: readonly LedgerSum[]): { readonly keyed: LedgerSum[]; readonly others: LedgerSum[] } {
  return { keyed: sums.filter(({ slice }) => slice === 'key'), others: sums.filter(({ slice }) => slice !== 'key') };
}

/** Whether a day can take more figures of any kind. */
export function hasRoom(count: number, more: number): boolean {
  return count + more <= MAX_SUMS_PER_DAY - KEPT_FOR_KNOWN;
}

/**
 * Adds figures to a nearly full day. A figure without room is added to the project `(others)` under its own name, or
 * else under the name `(others)`. So no figure is lost, and totals by day and by cause stay complete. Totals by model
 * and by tool stay complete unless there are thousands of names.
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
  const movedProjects = new Set<string>();
  const { keyed, others } = splitKeys(sums);
  const placed = others.map((sum) => {
    const kept = day.hasPart(sum) ? KEPT_FOR_OTHERS : KEPT_FOR_KNOWN;
    if (takes(sum, MAX_SUMS_PER_DAY - kept)) return sum;
    moved++;
    if (sum.slice === 'all') movedProjects.add(sum.project);
    const other = { ...sum, project: OTHERS };
    if (takes(other, MAX_SUMS_PER_DAY - KEPT_FOR_UNNAMED)) return other;
    const unnamed = { ...other, key: sum.key === '' ? '' : OTHERS };
    takes(unnamed, MAX_SUMS_PER_DAY);
    return unnamed;
  });
  const ofKeys = keyed.map((sum) => (movedProjects.has(sum.project) ? { ...sum, project: OTHERS } : sum));
  return { sums: [...placed, ...ofKeys], folded: moved };
}

/** The identity of a figure, and the part of a day that it belongs to. */
export function idOf({ day, project, slice, key, field }: LedgerSum): string {
  return [day, project, slice, key, field].join('\0');
}

/** All names under which a figure may be stored. */
export function namesOf(sum: LedgerSum): LedgerSum[] {
  return [sum, { ...sum, project: OTHERS }, { ...sum, project: OTHERS, key: sum.key === '' ? '' : OTHERS }];
}
