import { eachTerm } from 'mcp-pruner/engine/search/terms.ts';
import { type Lines, lineAt, splitLines } from 'mcp-pruner/engine/text/lines.ts';
import type { LineRange } from 'mcp-pruner/engine/types.ts';

/** A term of a query with its weight, which is higher for rarer terms. */
export interface QueryTerm {
  readonly term: string;
  readonly weight: number;
  /** The term occurs as a word in no text; names that contain it match instead. */
  readonly isFragment: boolean;
}

export interface RankedText {
  readonly lines: Lines;
  /**
   * BM25 over the query terms, with gains for terms that are close to each other or in the call, and for a named path.
   */
  readonly score: number;
  /** Lines with a term of the query (1-based), ascending, with the indexes of their terms. */
  readonly matches: readonly LineMatch[];
}

interface LineMatch {
  readonly line: number;
  readonly terms: readonly number[];
}

/** Parameters of BM25: the saturation of repeated terms, and the penalty for long texts. */
const K1 = 1.2;
const B = 0.6;
/** Terms within this many lines of each other count as close. */
const CLOSE_LINES = 12;
const CLOSE_GAIN = 0.6;
const ABOUT_GAIN = 0.8;
/**
 * Gain of a file or call that the query names in full, as a multiple of the query's weight plus the rarest term's
 * weight.
 */
const CALL_GAIN = 1.5;
/** Number of context lines shown before matching lines. */
const LINES_BEFORE = 2;
const LINES_AFTER = 3;
const MAX_MATCHES = 2_000;

export interface AboutText {
  readonly path: string;
  /** The call that produced the text: its path, command or query. */
  readonly about: string;
  /** Mean length of all texts, in UTF-16 units. */
  readonly meanChars: number;
  /** Weight of a term that occurs in only one text. */
  readonly rarest: number;
  /** Paths and file names in the query, see `pathsIn`. */
  readonly pathsInQuery: readonly string[];
}

export function rankText(text: string, query: readonly QueryTerm[], of: AboutText): RankedText {
  const lines = splitLines(text);
  const { counts, matches } = matchLines(lines, query);
  const length = 1 - B + B * (text.length / Math.max(1, of.meanChars));
  let score = 0;
  query.forEach(({ weight }, i) => {
    const count = counts[i] ?? 0;
    score += (weight * count * (K1 + 1)) / (count + K1 * length);
  });
  const total = query.reduce((sum, { weight }) => sum + weight, 0);
  const close = closest(matches, query, CLOSE_LINES);
  const rated = score * (1 + (total > 0 ? (CLOSE_GAIN * close.weight) / total : 0));
  const call = sharedWith(of.about, query);
  const named = CALL_GAIN * (total + of.rarest) * Math.max(pathMatch(of.path, of.pathsInQuery), call.share ** 2);
  return { lines, score: rated + ABOUT_GAIN * call.weight + named, matches };
}

/**
 * The lines that best answer a query, at most `size`: lines with most of its terms and their context, or the first
 * lines if none matches.
 */
export function bestLines({ lines, matches }: RankedText, query: readonly QueryTerm[], size: number): LineRange {
  const { from, to } = closest(matches, query, size);
  if (from === 0) return { startLine: 1, endLine: Math.max(1, Math.min(size, lines.count)) };
  const spare = size - (to - from + 1);
  const before = Math.min(LINES_BEFORE, Math.floor(spare / 2));
  const after = Math.min(LINES_AFTER, spare - before);
  return { startLine: Math.max(1, from - before), endLine: Math.min(lines.count, to + after) };
}

function matchLines(lines: Lines, query: readonly QueryTerm[]): { counts: number[]; matches: LineMatch[] } {
  const counts = query.map(() => 0);
  const whole = new Map(query.map(({ term }, i) => [term, i]));
  const fragments = query.flatMap(({ term, isFragment }, i) => (isFragment ? [[term, i] as const] : []));
  const matches: LineMatch[] = [];
  for (const line of likelyLines(lines, query)) {
    const here = new Set<number>();
    eachTerm(lineAt(lines, line), (term) => {
      const found = whole.get(term) ?? fragments.find(([fragment]) => term.includes(fragment))?.[1];
      if (found === undefined) return;
      counts[found] = (counts[found] ?? 0) + 1;
      here.add(found);
    });
    if (here.size > 0 && matches.length < MAX_MATCHES) matches.push({ line, terms: [...here] });
  }
  return { counts, matches };
}

/** Terms below this share of the highest weight do not select lines. */
const LEAST_SHARE = 0.2;

/**
 * Lines that contain a heavy term of the query literally; all lines if there are none, because names may be spelled
 * with separators or accents. Splitting every line into terms would take ten times as long.
 */
function likelyLines(lines: Lines, query: readonly QueryTerm[]): readonly number[] {
  const lower = lines.text.toLowerCase();
  const most = query.reduce((heaviest, { weight }) => Math.max(heaviest, weight), 0);
  const found = new Set<number>();
  for (const { term, weight } of lower.length === lines.text.length ? query : []) {
    if (weight < LEAST_SHARE * most) continue;
    for (let at = lower.indexOf(term), line = 1; at >= 0; at = lower.indexOf(term, lines.starts[line])) {
      line = lineOf(lines, at, line);
      found.add(line);
      if (line >= lines.count) break;
    }
  }
  if (found.size === 0) return Array.from({ length: lines.count }, (_, i) => i + 1);
  return [...found].sort((a, b) => a - b);
}

/** The line of an offset, searched from a line at or before it. */
function lineOf({ starts, count }: Lines, offset: number, from: number): number {
  let low = from;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The range of at most `size` lines with the heaviest distinct terms; `from` is 0 if no line matches. */
function closest(matches: readonly LineMatch[], query: readonly QueryTerm[], size: number) {
  let best = { from: 0, to: 0, weight: 0 };
  const held = query.map(() => 0);
  let weight = 0;
  let first = 0;
  const change = ({ terms }: LineMatch, by: 1 | -1): void => {
    for (const term of terms) {
      const before = held[term] ?? 0;
      held[term] = before + by;
      if ((by > 0 && before === 0) || (by < 0 && before === 1)) weight += by * (query[term]?.weight ?? 0);
    }
  };
  matches.forEach((match) => {
    change(match, 1);
    for (let head = matches[first]; head && match.line - head.line >= size; head = matches[first]) {
      change(head, -1);
      first++;
    }
    if (weight > best.weight + 1e-9) best = { from: matches[first]?.line ?? match.line, to: match.line, weight };
  });
  return best;
}

/**
 * How well a path matches the paths in a query: 0 for no match, 0.5 for the file name, and 0.1 more for each matching
 * folder above it; 1 if a whole path with a folder matches.
 */
function pathMatch(path: string, pathsInQuery: readonly string[]): number {
  if (path === '') return 0;
  const parts = partsOf(path);
  let best = 0;
  for (const one of pathsInQuery) {
    const wanted = partsOf(one);
    let common = 0;
    while (common < Math.min(parts.length, wanted.length) && parts.at(-1 - common) === wanted.at(-1 - common)) common++;
    if (common > 0)
      best = Math.max(best, common === wanted.length && wanted.length > 1 ? 1 : Math.min(1, 0.4 + 0.1 * common));
  }
  return best;
}

function partsOf(path: string): string[] {
  return path
    .toLowerCase()
    .split(/[\\/]/)
    .filter((part) => part !== '' && part !== '.');
}

/** Words of a query that are paths or file names. */
export function pathsIn(query: string): string[] {
  const words = query.split(/[\s"'`()[\]{}<>,;=|]+/, MAX_WORDS);
  return words
    .map((word) => word.replace(/[.:!?]$/, ''))
    .filter((word) => word.length <= MAX_PATH && FILE_NAME.test(word));
}

const MAX_WORDS = 2_000;
const MAX_PATH = 500;
/** Matches a file name with an extension at the end of a word. */
const FILE_NAME = /[\w-]\.[A-Za-z][A-Za-z0-9]{0,9}$/;

/** Share of a call's terms that a query contains, 0 to 1. */
export function shareOfCall(about: string, query: readonly QueryTerm[]): number {
  return sharedWith(about, query).share;
}

/** Weight of the terms shared by a call and a query, and their share of the call, 0 to 1. */
function sharedWith(about: string, query: readonly QueryTerm[]): { readonly weight: number; readonly share: number } {
  if (about === '') return { weight: 0, share: 0 };
  const terms = new Set<string>();
  eachTerm(about, (term) => terms.add(term));
  const name = about.toLowerCase().replaceAll('_', '');
  let weight = 0;
  let count = 0;
  for (const one of query) {
    const isWhole = terms.has(one.term);
    if (isWhole) count++;
    if (isWhole || (one.isFragment && name.includes(one.term))) weight += one.weight;
  }
  return { weight, share: terms.size < 2 ? 0 : count / terms.size };
}
