import { BoundedMap } from '../../base/bounded-map.ts';
import type { RecallCandidate, SearchTerm } from '../../core/ports/recall.ts';
import type { StoredText } from '../text-codec.ts';

/** Number of a project's results, their total length, and their row range. */
export interface ProjectSize {
  readonly results: number;
  readonly chars: number;
  readonly first: number;
  readonly last: number;
}

export const NOTHING: ProjectSize = { results: 0, chars: 0, first: 0, last: 0 };

/** Maximum number of results counted per term; beyond it, the number is extrapolated from the range of counted rows. */
export const MOST_COUNTED = 1_000;
/** The size of a project with more results is recounted only after `COUNTED_MS`. */
export const LARGE_PROJECT = 1_000;
const COUNTED_MS = 60_000;
const MAX_PROJECTS = 100;
/** Limits for the results considered per query, newest first: maximum and minimum per term, and maximum in total. */
const MOST_OF_TERM = 4_000;
const LEAST_OF_TERM = 500;
const MOST_OF_QUERY = 6_000;

/** Cache of the sizes of large projects, by name. */
export function sizesOfProjects(): BoundedMap<string, ProjectSize> {
  return new BoundedMap(MAX_PROJECTS, COUNTED_MS);
}

/** Estimates the number of results with a term from `count` results counted back to the row `oldest`. */
export function estimatedCount({
  count,
  oldest,
  first,
  last,
}: { readonly count: number; readonly oldest: number } & Pick<ProjectSize, 'first' | 'last'>): number {
  if (count < MOST_COUNTED) return count;
  return Math.max(count, Math.round((count * (last - first + 1)) / Math.max(1, last - oldest + 1)));
}

/** Number of results considered per term, for a query with this many terms. */
export function resultsOfTerm(terms: number): number {
  return Math.min(MOST_OF_TERM, Math.max(LEAST_OF_TERM, Math.floor(MOST_OF_QUERY / Math.max(1, terms))));
}

/** Maximum number of candidates weighed by length before the best are chosen. */
export const MOST_WEIGHED = 300;
/** Number of rarest terms that select candidates. */
const MOST_TERMS = 16;

/**
 * The rarest terms.
 *
 * @param most - maximum total number of results; the rarest term is always included
 */
export function rarestOf(terms: readonly SearchTerm[], most = Number.POSITIVE_INFINITY): readonly SearchTerm[] {
  const rarest = terms.toSorted((a, b) => b.weight - a.weight).slice(0, MOST_TERMS);
  let sum = 0;
  return rarest.filter(({ results }, i) => {
    sum += results;
    return i === 0 || sum <= most;
  });
}

/** Cache of result counts for terms that are slow to count. The caller chooses the keys. */
export function commonTerms(): BoundedMap<string, number> {
  return new BoundedMap(MAX_COMMON, COMMON_MS);
}

/** Counts of common terms are refreshed only after this time, in milliseconds. */
const COMMON_MS = 600_000;
const MAX_COMMON = 10_000;

/** A result waiting to be indexed, with its text. */
export interface WaitingRow extends StoredText {
  readonly id: number;
  readonly about: string;
  readonly chars: number;
}

/** A candidate with its original's expiry. */
export interface CandidateRow extends RecallCandidate {
  readonly expires_ms: number;
}

/** Columns of a `CandidateRow`. */
export const COLUMNS = `r.id AS "row", p.prune_id AS "pruneId", r.tool, r.path, r.about, r.seen_ms AS "seenMs", r.chars, r.newer, p.expires_ms`;
/** Weight of a result about a file named in the query, as a multiple of the rarest term's weight. */
export const FILE_WEIGHT = 3;

/** The first rows that have at most `maxChars` characters together; at least one, if there is any. */
export function withinChars<Row extends { readonly chars: number }>(rows: readonly Row[], maxChars: number): Row[] {
  let chars = 0;
  return rows.filter((row, i) => {
    chars += row.chars;
    return i === 0 || chars <= maxChars;
  });
}
