import { isWordSign, LOWER_CASE } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import type { GoalTerm } from './terms.ts';
import type { Vocabulary } from './vocabulary.ts';

/**
 * BM25's saturation, with its usual value, and its length normalisation, weaker than the usual .75 because lines differ
 * less in length than documents.
 */
const K1 = 1.2;
const B = 0.4;
/**
 * Line length is capped at this many words for normalisation, so that matches in very long lines keep some weight. Set
 * by hand.
 */
const MOST_WORDS = 60;

/** BM25's inverse document frequency over lines (Robertson and Spärck Jones, 1976); adding 1 avoids negative values. */
function rarity(n: number, lines: number): number {
  return Math.log(1 + (n - lines + 0.5) / (lines + 0.5));
}

/**
 * The weight of each word of a text for the goal, by word id; 0 for words that are neither in the goal nor related to
 * one of its words.
 */
export function weighWords(view: View, words: Vocabulary, terms: readonly GoalTerm[]): Float64Array {
  const weight = new Float64Array(words.size);
  const idf = (id: number): number => rarity(view.n, words.lineCount[id] ?? 0);
  for (const term of terms) {
    const id = words.find(term.hash);
    if (id >= 0) weight[id] = term.weight * idf(id);
  }
  const byStart = new Map<number, GoalTerm[]>();
  const starts = new Uint8Array(STARTS);
  for (const term of terms) {
    if (term.word.length < STEM_CHARS) continue;
    const key = startKeyOf(term.word);
    const list = byStart.get(key);
    starts[key & (STARTS - 1)] = 1;
    if (list === undefined) byStart.set(key, [term]);
    else list.push(term);
  }
  if (byStart.size === 0) return weight;
  for (const id of wordsBeginningLike(view, words, starts)) {
    if (weight[id] !== 0) continue;
    const start = words.start[id] ?? 0;
    const length = (words.end[id] ?? 0) - start;
    for (const term of byStart.get(startKey(view.codes, start)) ?? []) {
      const kinship = related(view.text, start, length, term.word);
      if (kinship > 0) weight[id] = Math.max(weight[id] ?? 0, kinship * term.weight * idf(id));
    }
  }
  return weight;
}

/** Words that may share a beginning with a goal word: the slot of their `startKey` is set in `starts`. */
function wordsBeginningLike({ codes }: View, { size, start, end }: Vocabulary, starts: Uint8Array): number[] {
  const found: number[] = [];
  for (let id = 0; id < size; id++) {
    const at = start[id] ?? 0;
    if ((end[id] ?? 0) - at < STEM_CHARS) continue;
    if (starts[startKey(codes, at) & (STARTS - 1)] !== 0) found.push(id);
  }
  return found;
}

/**
 * Size of the table that filters out words with other beginnings. Set by hand: about twenty times the maximum number of
 * terms.
 */
const STARTS = 4096;
/** Minimum number of leading letters shared by related words, and minimum share of the longer word. Set by hand. */
const STEM_CHARS = 4;
const STEM_SHARE = 0.6;
/** Weight of a related word, relative to the word itself. Set by hand. */
const KINSHIP = 0.4;
/** A prime that spreads keys evenly over the table. */
const SPREAD = 8191;

/** The first letters of a word as one number, ignoring case. */
function startKey(codes: Uint16Array, start: number): number {
  let key = 0;
  for (let i = 0; i < STEM_CHARS; i++) key = Math.imul(key, SPREAD) + ((codes[start + i] ?? 0) | LOWER_CASE);
  return key;
}

/** Like `startKey`, for a string. */
function startKeyOf(word: string): number {
  let key = 0;
  for (let i = 0; i < STEM_CHARS; i++) key = Math.imul(key, SPREAD) + (word.charCodeAt(i) | LOWER_CASE);
  return key;
}

/**
 * Likelihood that two words with the same beginning mean the same (`tree` and `treeify`, `paginate` and `pagination`),
 * 0..1.
 */
function related(text: string, start: number, length: number, word: string): number {
  const most = Math.min(length, word.length);
  let common = 0;
  while (common < most && (text.charCodeAt(start + common) | LOWER_CASE) === (word.charCodeAt(common) | LOWER_CASE))
    common++;
  if (common === word.length || (common === length && length > STEM_CHARS)) return KINSHIP;
  return common > STEM_CHARS && common >= STEM_SHARE * Math.max(length, word.length) ? KINSHIP : 0;
}

export interface GoalMatch {
  /** The weight of each word for the goal, by word id. */
  readonly weight: Float64Array;
  /** Flags of the lines that contain each compound of the goal, by spelling. */
  readonly compounds: ReadonlyMap<string, LineFlags>;
  /** Indices into the vocabulary's `ids` of words with a weight, ascending. */
  readonly hits: readonly number[];
  /** `hits[first[i]] … hits[first[i + 1] - 1]` belong to line index `i`. */
  readonly first: Uint32Array;
  /** BM25 score of each line by itself. */
  readonly raw: Float64Array;
}

/**
 * Finds the goal's words in a text and scores each line by them.
 *
 * @param bind - whether words that occur in the goal only within compounds count only on lines with such a compound
 */
export function matchGoal(view: View, words: Vocabulary, terms: readonly GoalTerm[], bind: boolean): GoalMatch {
  const weight = weighWords(view, words, terms);
  const compounds = findCompounds(view, terms);
  const bound = bind ? bindWords(words, terms, compounds) : NONE_BOUND;
  for (const [id, { lines, term }] of bound) weight[id] = term.weight * rarity(view.n, countOf(lines));
  const first = new Uint32Array(view.n + 1);
  const hits = hitsOf(words, weight, bound, first);
  return { weight, compounds, hits, first, raw: scoreLines(view, words, { weight, hits, first }) };
}

const NONE_BOUND: ReadonlyMap<number, BoundWord> = new Map();

/** Collects the hits of a match, and fills in its `first`. */
function hitsOf(
  { ids, first: words }: Vocabulary,
  weight: Float64Array,
  bound: ReadonlyMap<number, BoundWord>,
  first: Uint32Array,
): number[] {
  const hits: number[] = [];
  for (let i = 1; i < first.length; i++) {
    const end = words[i] ?? 0;
    for (let k = words[i - 1] ?? 0; k < end; k++) {
      const id = ids[k] ?? 0;
      if (weight[id] !== 0 && (bound.size === 0 || bound.get(id)?.lines[i - 1] !== 0)) hits.push(k);
    }
    first[i] = hits.length;
  }
  return hits;
}

/** The BM25 score of each line, with these weights. `hits` must contain every word with a weight other than 0. */
export function scoreLines(
  view: View,
  words: Vocabulary,
  { weight, hits, first }: Pick<GoalMatch, 'weight' | 'hits' | 'first'>,
): Float64Array {
  const raw = new Float64Array(view.n);
  const average = Math.max(1, words.total / Math.max(1, view.n));
  for (let i = 0; i < view.n; i++) {
    const start = first[i] ?? 0;
    const end = first[i + 1] ?? 0;
    if (start === end) continue;
    let sum = 0;
    const norm = K1 * (1 - B + (B * Math.min(words.spoken[i] ?? 0, MOST_WORDS)) / average);
    for (let h = start; h < end; h++) {
      const w = weight[words.ids[hits[h] ?? 0] ?? 0] ?? 0;
      if (w > 0 && !repeated(words, hits, start, h)) sum += (w * (K1 + 1)) / (1 + norm);
    }
    raw[i] = sum;
  }
  return raw;
}

/** Repetitions of a word within this many words are counted once. Set by hand: about three lines. */
const REPEAT_WORDS = 40;

function repeated({ ids, ordinal }: Vocabulary, hits: readonly number[], start: number, h: number): boolean {
  const at = hits[h] ?? 0;
  const since = (ordinal[at] ?? 0) - REPEAT_WORDS;
  for (let j = h - 1; j >= start; j--) {
    const before = hits[j] ?? 0;
    if ((ordinal[before] ?? 0) < since) return false;
    if (ids[before] === ids[at]) return true;
  }
  return false;
}

/** Per line index: 1 if the line contains the item, else 0. */
type LineFlags = Uint8Array;

/** Finds the lines of each compound of a goal, by spelling. Compounds that do not occur are omitted. */
function findCompounds(view: View, terms: readonly GoalTerm[]): ReadonlyMap<string, LineFlags> {
  const found = new Map<string, LineFlags>();
  for (const compound of new Set(terms.flatMap(({ compounds }) => compounds))) {
    const lines = linesWith(view, compound);
    if (lines !== null) found.set(compound, lines);
  }
  return found;
}

/** A goal word that only counts on some lines. */
interface BoundWord {
  readonly term: GoalTerm;
  readonly lines: LineFlags;
}

/**
 * For goal words that occur only within compounds, by word id: the lines with such a compound. Words whose compounds do
 * not occur in the text count everywhere.
 */
function bindWords(
  words: Vocabulary,
  terms: readonly GoalTerm[],
  compounds: ReadonlyMap<string, LineFlags>,
): ReadonlyMap<number, BoundWord> {
  const bound = new Map<number, BoundWord>();
  if (compounds.size === 0) return bound;
  for (const term of terms) {
    const id = term.isPart ? words.find(term.hash) : -1;
    const places = id < 0 ? [] : term.compounds.flatMap((compound) => compounds.get(compound) ?? []);
    const [lines] = places;
    if (lines !== undefined) bound.set(id, { term, lines: places.length === 1 ? lines : unionOf(places) });
  }
  return bound;
}

export function unionOf(places: readonly LineFlags[]): LineFlags {
  const all = Uint8Array.from(places[0] ?? []);
  for (const place of places) for (let i = 0; i < all.length; i++) if (place[i] === 1) all[i] = 1;
  return all;
}

export function countOf(flags: LineFlags): number {
  let count = 0;
  for (const flag of flags) count += flag;
  return count;
}

/** Lines that contain a compound exactly as spelled; `null` if there are none. */
function linesWith({ text, lines: { starts }, n }: View, compound: string): Uint8Array | null {
  let found: Uint8Array | null = null;
  let line = 0;
  for (let at = text.indexOf(compound); at >= 0; at = text.indexOf(compound, at + compound.length)) {
    if (isWordAt(text, at - 1) || isWordAt(text, at + compound.length)) continue;
    while (line + 1 < n && (starts[line + 1] ?? 0) <= at) line++;
    found ??= new Uint8Array(n);
    found[line] = 1;
  }
  return found;
}

function isWordAt(text: string, at: number): boolean {
  return isWordSign(text.charCodeAt(at));
}
