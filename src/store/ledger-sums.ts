import type { LedgerSum, Others } from '../core/ports/ledger-store.ts';

export const OTHERS: Others = '(others)';

/** Maximum number of figures per day; limited because clients choose the names of projects, models and tools. */
const MAX_SUMS_PER_DAY = 20_000;

/**
 * Reserved room at the end of that range: the last 4,000 figures are not available to new groups, the last 3,000 only
 * to the project `(others)`, and the last 1,000 only to the key `(others)`.
 */
const KEPT_FOR_KNOWN = 4_000;
const KEPT_FOR_OTHERS = 3_000;
const KEPT_FOR_UNNAMED = 1_000;

/** A day's figures are counted again after this many were added, and always once the day is half full. */
const COUNTED_AGAIN = 1_000;

/** How many figures the newest day has, at most: counting them takes as long as there are rows. */
export class DayCounts {
  #day = '';
  #count = 0;
  #added = 0;

  /** The count before more figures are added; `null` if they have to be counted. */
  after(day: string, more: number): number | null {
    if (day !== this.#day || this.#count + this.#added + more > MAX_SUMS_PER_DAY / 2) return null;
    if (this.#added > COUNTED_AGAIN) return null;
    const before = this.#count + this.#added;
    this.#added += more;
    return before;
  }

  counted(day: string, count: number): number {
    this.#day = day;
    this.#count = count;
    this.#added = 0;
    return count;
  }
}

/** Stored figures of one day. */
interface DayOfSums {
  count: number;
  has(sum: LedgerSum): boolean;
  /** Whether any figure of this project, slice and key exists. */
  hasPart(sum: LedgerSum): boolean;
}

/**
 * Figures of keys do not count towards the limit of a day: keys are issued by an administrator, and budgets depend on
 * their figures. They are folded into `(others)` with their project, so that project names cannot multiply them.
 */
function splitKeys(sums: readonly LedgerSum[]): { readonly keyed: LedgerSum[]; readonly others: LedgerSum[] } {
  return { keyed: sums.filter(({ slice }) => slice === 'key'), others: sums.filter(({ slice }) => slice !== 'key') };
}

/** Whether a day has room for more figures of any kind. */
export function hasRoom(count: number, more: number): boolean {
  return count + more <= MAX_SUMS_PER_DAY - KEPT_FOR_KNOWN;
}

/**
 * Adds figures to a nearly full day. Figures without room go to the project `(others)` under their own name or, failing
 * that, under the name `(others)`. No figure is lost: totals by day and by cause stay complete, and so do totals by
 * model and tool unless there are thousands of names.
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

/** Identity of a figure; with an empty field, of its project, slice and key. */
export function idOf({ day, project, slice, key, field }: LedgerSum): string {
  return [day, project, slice, key, field].join('\0');
}

/** All names under which a figure may be stored, including folded ones. */
export function namesOf(sum: LedgerSum): LedgerSum[] {
  return [sum, { ...sum, project: OTHERS }, { ...sum, project: OTHERS, key: sum.key === '' ? '' : OTHERS }];
}
