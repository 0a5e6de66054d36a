import type { LedgerSum, Others } from '../core/ports/ledger-store.ts';

export const OTHERS: Others = '(others)';

/** Maximum number of figures per day, because names of projects, models and tools come from clients. */
const MAX_SUMS_PER_DAY = 20_000;

/**
 * Reserved figures at the end of that range: the last 4,000 are not for new groups, the last 3,000 only for the project
 * `(others)`, and the last 1,000 only for the key `(others)`.
 */
const KEPT_FOR_KNOWN = 4_000;
const KEPT_FOR_OTHERS = 3_000;
const KEPT_FOR_UNNAMED = 1_000;

/** The stored figures of a day. */
interface DayOfSums {
  count: number;
  has(sum: LedgerSum): boolean;
  /** Whether any figure of this project, slice and key exists. */
  hasPart(sum: LedgerSum): boolean;
}

/**
 * Figures of keys do not count towards the limit of a day: keys are issued by an administrator, and budgets depend on
 * their figures. They follow their project into `(others)`, so that project names cannot multiply them.
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

/** The identity of a figure; with an empty field, that of its project, slice and key. */
export function idOf({ day, project, slice, key, field }: LedgerSum): string {
  return [day, project, slice, key, field].join('\0');
}

/** All names under which a figure may be stored. */
export function namesOf(sum: LedgerSum): LedgerSum[] {
  return [sum, { ...sum, project: OTHERS }, { ...sum, project: OTHERS, key: sum.key === '' ? '' : OTHERS }];
}
