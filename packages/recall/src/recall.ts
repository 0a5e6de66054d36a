import type {
  RecallAnswer,
  RecallCandidate,
  RecallHit,
  RecallInput,
  RecallScope,
  RecallSearch,
  RecallStore,
} from 'mcp-pruner/core/ports/recall.ts';
import { isFragment, weightOf } from 'mcp-pruner/engine/search/scan.ts';
import { eachTerm } from 'mcp-pruner/engine/search/terms.ts';
import { renderRanges } from 'mcp-pruner/engine/text/render.ts';
import { nameMatcher } from './glob.ts';
import { termsOfQuery } from './query.ts';
import { type AboutText, bestLines, pathsIn, type QueryTerm, type RankedText, rankText, shareOfCall } from './rank.ts';

interface RecallOptions {
  readonly store: RecallStore;
  /** Waits until the results of recent requests are stored. */
  readonly flush: () => Promise<void>;
  /** Receives the prune ids of the hits. Must not throw or block. */
  readonly onHits?: (pruneIds: readonly string[]) => void;
}

export const DEFAULT_HITS = 8;
export const MAX_HITS = 50;
/** Total lines of all hits. */
const MAX_LINES = 40;
const MAX_LINES_OF_HIT = 12;
/** Longer lines are cut around the first match. */
const MAX_LINE_CHARS = 4_000;
const MAX_QUERY_CHARS = 10_000;
const MAX_FILES = 20;
/** Maximum number of results considered per answer, and of results whose texts are read. */
const CONSIDERED = 300;
const CANDIDATES = 40;
const MIN_CANDIDATES = 15;
/** Maximum number of characters read per answer; the first `MIN_CANDIDATES` texts are always read. */
const READ_CHARS = 200_000;
/** A query with at least this share of a call's words refers to that call. */
const SAME_CALL = 0.5;
/** Score gain of the newest result, and the number of newer results after which the gain has dropped to a third. */
const RECENT_GAIN = 1;
const RECENT_RESULTS = 10;
const NOTHING_FOUND =
  'No stored result contains any of these words. Try other words, fewer filters, or scope "project"; otherwise read the source again.';
const NO_WORDS = 'The query has no words: give words, names or paths that the result contains.';

/** Searches stored tool results. */
export class Recall implements RecallSearch {
  readonly #options: RecallOptions;

  constructor(options: RecallOptions) {
    this.#options = options;
  }

  /** @throws StoreUnavailable */
  async search(input: RecallInput): Promise<RecallAnswer> {
    const { store } = this.#options;
    const scope = input.scope === 'conversation' && input.task !== '' ? 'conversation' : 'project';
    const queryTerms = termsOfQuery(input.query.slice(0, MAX_QUERY_CHARS));
    if (queryTerms.size === 0) return { hits: [], more: false, scope, hint: NO_WORDS };
    await this.#options.flush();
    const within = await this.#within(input, scope);
    if (within === null) return { hits: [], more: false, scope, hint: NOTHING_FOUND };
    const pathsInQuery = pathsIn(input.query.slice(0, MAX_QUERY_CHARS));
    const files = pathsInQuery.map((path) => (path.split(/[\\/]/).at(-1) ?? '').toLowerCase()).slice(0, MAX_FILES);
    const found = await store.find({ ...within, terms: queryTerms, files, limit: CONSIDERED });
    const { results, meanChars, withTerm, candidates } = found;
    const query = Array.from(queryTerms, ([term, isNamed]): QueryTerm => {
      const count = withTerm.get(term) ?? 0;
      return { term, weight: weightOf(term, isNamed, count, results), isFragment: isFragment(term, count) };
    });
    const likeliest = withinReadLimit(sameCallsFirst(candidates, query).slice(0, CANDIDATES));
    const about = { meanChars, rarest: Math.log(1 + results), pathsInQuery };
    const sorted = inOrder(await this.#ranked(likeliest, query, about), await this.#own(input, likeliest));
    const limit = Math.min(Math.max(1, input.limit ?? DEFAULT_HITS), MAX_HITS);
    const hits = hitsOf(sorted.slice(0, limit), query);
    if (hits.length === 0) return { hits, more: false, scope, hint: NOTHING_FOUND };
    this.#options.onHits?.(hits.map(({ prune_id }) => prune_id));
    const isMore = found.more || candidates.length > likeliest.length || sorted.length > hits.length;
    return { hits, more: isMore, scope };
  }

  /** The search scope; `null` if the filters match nothing. */
  async #within({ project, task, path, tool }: RecallInput, scope: RecallAnswer['scope']): Promise<RecallScope | null> {
    const { store } = this.#options;
    const matching = async (of: 'tool' | 'path', pattern: string | undefined): Promise<readonly string[] | null> =>
      pattern === undefined ? null : (await store.names(project, of)).filter(nameMatcher(pattern));
    const [tools, paths] = [await matching('tool', tool), await matching('path', path)];
    if (tools?.length === 0 || paths?.length === 0) return null;
    return {
      project,
      tools: tools ?? undefined,
      paths: paths ?? undefined,
      of: scope === 'conversation' ? { task, conversations: await store.continuedBy(project, task) } : undefined,
    };
  }

  async #ranked(
    found: readonly RecallCandidate[],
    query: readonly QueryTerm[],
    of: Pick<AboutText, 'meanChars' | 'rarest' | 'pathsInQuery'>,
  ): Promise<Ranked[]> {
    const texts = await this.#options.store.texts(found.map(({ pruneId }) => pruneId));
    const gains = recencyGains(found);
    return found.flatMap((candidate): Ranked[] => {
      const text = texts.get(candidate.pruneId);
      if (text === undefined) return [];
      const { path, about, row } = candidate;
      const ranked = rankText(text, query, { ...of, path, about });
      const score = ranked.score * (gains.get(row) ?? 1);
      return score > 0 ? [{ candidate, ranked, score: rounded(score) }] : [];
    });
  }

  /** Rows from the caller's own task, or from a conversation that it continues. */
  async #own({ project, task }: RecallInput, found: readonly RecallCandidate[]): Promise<ReadonlySet<number>> {
    if (task === '' || found.length === 0) return new Set();
    const { store } = this.#options;
    const rows = found.map(({ row }) => row);
    return store.seenIn(rows, { task, conversations: await store.continuedBy(project, task) });
  }
}

interface Ranked {
  readonly candidate: RecallCandidate;
  readonly ranked: RankedText;
  readonly score: number;
}

/** Moves results of calls that the query refers to to the front; otherwise keeps the order. */
function sameCallsFirst(found: readonly RecallCandidate[], query: readonly QueryTerm[]): readonly RecallCandidate[] {
  const shares = new Map(found.map(({ row, about }) => [row, shareOfCall(about, query)]));
  const shareOf = ({ row }: RecallCandidate): number => {
    const share = shares.get(row) ?? 0;
    return share < SAME_CALL ? 0 : share;
  };
  return found.toSorted((a, b) => shareOf(b) - shareOf(a));
}

/** The leading results whose texts fit into `READ_CHARS`. */
function withinReadLimit(found: readonly RecallCandidate[]): readonly RecallCandidate[] {
  let chars = 0;
  return found.filter((one, i) => {
    chars += one.chars;
    return i < MIN_CANDIDATES || chars <= READ_CHARS;
  });
}

/** Weight factor of each result by age: agents tend to read again what they have just seen. */
function recencyGains(found: readonly RecallCandidate[]): ReadonlyMap<number, number> {
  const newestFirst = found.toSorted((a, b) => b.seenMs - a.seenMs || b.row - a.row);
  return new Map(newestFirst.map(({ row }, i) => [row, 1 + RECENT_GAIN * Math.exp(-i / RECENT_RESULTS)]));
}

/** Scores that differ by less are considered equal; the newer result then comes first. */
const SCORE_STEP = Math.log(1.06);

function rounded(score: number): number {
  const stepped = Math.exp(Math.round(Math.log(score) / SCORE_STEP) * SCORE_STEP);
  return Math.max(0.01, Math.round(stepped * 100) / 100);
}

/**
 * Sorts by score, then by number of successors, then the caller's own task first, then newest first. A superseded
 * result never precedes its successor.
 */
function inOrder(found: readonly Ranked[], own: ReadonlySet<number>): Ranked[] {
  const byRow = new Map(found.map((one) => [one.candidate.row, one]));
  const placed = new Map<number, { readonly score: number; readonly age: number }>();
  const place = ({ candidate: { row, newer }, score }: Ranked, depth = 0): { score: number; age: number } => {
    const known = placed.get(row);
    if (known) return known;
    const successor = newer === null || depth > found.length ? undefined : byRow.get(newer);
    const after = successor ? place(successor, depth + 1) : { score, age: newer === null ? 0 : 1 };
    const at = successor ? { score: Math.min(score, after.score), age: after.age + 1 } : after;
    placed.set(row, at);
    return at;
  };
  const at = (one: Ranked) => place(one);
  return found
    .map((one) => ({ ...one, score: at(one).score }))
    .sort(
      (a, b) =>
        b.score - a.score ||
        at(a).age - at(b).age ||
        Number(own.has(b.candidate.row)) - Number(own.has(a.candidate.row)) ||
        b.candidate.seenMs - a.candidate.seenMs ||
        b.candidate.row - a.candidate.row,
    );
}

/** The leading hits that fit into the line limit. */
function hitsOf(ranked: readonly Ranked[], query: readonly QueryTerm[]): RecallHit[] {
  const shown = ranked.slice(0, MAX_LINES);
  const size = Math.min(MAX_LINES_OF_HIT, Math.max(1, Math.floor(MAX_LINES / Math.max(1, shown.length))));
  return shown.map(({ candidate, ranked: of, score }): RecallHit => {
    const { pruneId, tool, path, seenMs, newer } = candidate;
    const range = bestLines(of, query, size);
    return {
      prune_id: pruneId,
      lines: `${range.startLine}-${range.endLine}`,
      tool: tool === '' ? null : tool,
      path: path === '' ? null : path,
      when: new Date(seenMs).toISOString(),
      score,
      ...(newer !== null && { superseded: true as const }),
      text: clipped(renderRanges(of.lines, [range], false), query),
    };
  });
}

/** Machine-generated lines can be very long; only the part around the first match is shown. */
function clipped(text: string, query: readonly QueryTerm[]): string {
  if (text.length <= MAX_LINE_CHARS) return text;
  return text
    .split('\n')
    .map((line) => (line.length <= MAX_LINE_CHARS ? line : around(line, query)))
    .join('\n');
}

function around(line: string, query: readonly QueryTerm[]): string {
  const wanted = new Set(query.map(({ term }) => term));
  let first = -1;
  eachTerm(line, (term, offset) => {
    if (first < 0 && wanted.has(term)) first = offset;
  });
  const start = Math.max(0, Math.min(first - MAX_LINE_CHARS / 4, line.length - MAX_LINE_CHARS));
  return line.slice(start, start + MAX_LINE_CHARS);
}
