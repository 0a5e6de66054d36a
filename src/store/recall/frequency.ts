import { BoundedMap } from '../../base/bounded-map.ts';
import type { SearchTerm } from '../../core/ports/recall.ts';

/** Number of a project's results, their total length, and the range of their rows. */
export interface ProjectSize {
  readonly results: number;
  readonly chars: number;
  readonly first: number;
  readonly last: number;
}

export const NOTHING: ProjectSize = { results: 0, chars: 0, first: 0, last: 0 };

/**
 * Maximum number of results counted for a term; for more common terms, the number is estimated from the range of the
 * counted rows.
 */
export const MOST_COUNTED = 1_000;
/** The size of a project with more results is counted again after `COUNTED_MS` only. */
export const LARGE_PROJECT = 1_000;
const COUNTED_MS = 60_000;
const MAX_PROJECTS = 100;
/** Limits on the results considered for a query, newest first: maximum and minimum per term, and maximum in total. */
const MOST_OF_TERM = 4_000;
const LEAST_OF_TERM = 500;
const MOST_OF_QUERY = 6_000;

/** Sizes of large projects by name. */
export function sizesOfProjects(): BoundedMap<string, ProjectSize> {
  return new BoundedMap(MAX_PROJECTS, COUNTED_MS);
}

/** Estimates the number of results with a term, of which `count` were counted, back to the row `oldest`. */
export function estimatedCount({
  count,
  oldest,
  first,
  last,
}: { readonly count: number; readonly oldest: number } & Pick<ProjectSize, 'first' | 'last'>): number {
  if (count < MOST_COUNTED) return count;
  return Math.max(count, Math.round((count * (last - first + 1)) / Math.max(1, last - oldest + 1)));
}

/** The number of results considered per term, for a query of this many terms. */
export function resultsOfTerm(terms: number): number {
  return Math.min(MOST_OF_TERM, Math.max(LEAST_OF_TERM, Math.floor(MOST_OF_QUERY / Math.max(1, terms))));
}

/** Maximum number of candidates weighed by length before the best are chosen. */
export const MOST_WEIGHED = 300;
/** Number of the rarest terms that select candidates. */
const MOST_TERMS = 16;

/**
 * The rarest terms.
 *
 * @param most - maximum total number of their results; the rarest term is always included
 */
export function rarestOf(terms: readonly SearchTerm[], most = Number.POSITIVE_INFINITY): readonly SearchTerm[] {
  const rarest = terms.toSorted((a, b) => b.weight - a.weight).slice(0, MOST_TERMS);
  let sum = 0;
  return rarest.filter(({ results }, i) => {
    sum += results;
    return i === 0 || sum <= most;
  });
}

/** A cache of the numbers of results with a term, for terms that are slow to count. The caller chooses the keys. */
export function commonTerms(): BoundedMap<string, number> {
  return new BoundedMap(MAX_COMMON, COMMON_MS);
}

/** The number of results with a common term is counted again after this time only, in milliseconds. */
const COMMON_MS = 600_000;
const MAX_COMMON = 10_000;
