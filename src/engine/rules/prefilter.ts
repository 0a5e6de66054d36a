import { BEYOND_ASCII, CARRIAGE_RETURN, isBlankSign, isDigit, SPACE, TAB } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import { ANY_DIGIT, type CharSet, type Node, parsePattern } from './pattern-parser.ts';
import { WordAutomaton } from './word-automaton.ts';

/** Column for non-ASCII characters and for the end of a line. */
const END = BEYOND_ASCII + 1;
const SIZE = END + 1;
/** Number of leading characters compared; more would hardly exclude further patterns. Set by hand. */
const MOST_PLACES = 3;

/** Finds candidate rules for a line by its first characters. */
class Beginnings {
  /** The rules that allow a character at a position, by position and character. */
  readonly #allowed = new Int32Array(SIZE * MOST_PLACES);

  /** Adds a beginning of a rule: character sets by position. Without any, the rule may match every line. */
  add(places: readonly CharSet[], marks: number): void {
    for (const [at, known] of this.#allowed.entries()) {
      const set = places[Math.floor(at / SIZE)];
      if (set === undefined || set[at % SIZE] === 1) this.#allowed[at] = known | marks;
    }
  }

  /**
   * The marks of all rules that a line starting at `start` may match. A rule with several beginnings is also marked if
   * each character belongs to any of them.
   */
  marksAt(codes: Uint16Array, start: number, end: number): number {
    const allowed = this.#allowed;
    let marks = -1;
    for (let at = start, row = 0; row < allowed.length && marks !== 0; at++, row += SIZE) {
      const column = at < end ? Math.min(codes[at] ?? 0, BEYOND_ASCII) : END;
      marks &= allowed[row + column] ?? 0;
    }
    return marks;
  }
}

/**
 * Finds all patterns that a line may match in one pass. A pattern is tried only if the line has its required beginning
 * or word, which are derived from the pattern. Results are bits; the first pattern has the lowest.
 */
export class Prefilter {
  /** Beginnings of rules at the start of a line and after its indentation; `null` if there are none. */
  readonly #atStart: Beginnings | null;
  readonly #indented: Beginnings | null;
  /** Beginnings of rules that also need a word. */
  readonly #atStartWithWord: Beginnings | null;
  readonly #indentedWithWord: Beginnings | null;
  readonly #words: WordAutomaton | null;
  /** Rules without conditions, which are always tried. */
  readonly #always: number;
  /** Rules whose pattern begins with indentation. */
  readonly #anyIndented: number;
  /** Rules that are tried if one of their words occurs. */
  readonly #anywhere: number;

  constructor(patterns: readonly RegExp[]) {
    const needs = patterns.flatMap((pattern, k) => needsOf(pattern).map((need) => ({ ...need, mark: 1 << k })));
    const wordless = needs.filter(({ words }) => words.length === 0);
    const worded = needs.filter(({ words }) => words.length > 0);
    // words are searched only if that can avoid trying a pattern that may begin anywhere
    const scans = worded.some(({ begins }) => begins === null);
    this.#words = scans
      ? new WordAutomaton(worded.flatMap(({ words, mark }) => words.map((word) => [word, mark])))
      : null;
    this.#always = marksOf(wordless.filter(({ begins }) => begins === null));
    this.#anywhere = marksOf(worded.filter(({ begins }) => begins === null));
    this.#anyIndented = marksOf(needs.filter(({ indented }) => indented));
    const byBeginning = scans ? wordless : needs;
    const byBoth = scans ? worded : [];
    this.#atStart = beginningsOf(byBeginning, false);
    this.#indented = beginningsOf(byBeginning, true);
    this.#atStartWithWord = beginningsOf(byBoth, false);
    this.#indentedWithWord = beginningsOf(byBoth, true);
  }

  /** Bits of the rules that the non-blank line with index `i` may match; a small superset of its matches. */
  candidates({ codes, from, firstNonBlank, to }: View, i: number): number {
    const start = from[i] ?? 0;
    const contentStart = firstNonBlank[i] ?? 0;
    const end = to[i] ?? 0;
    let marks = this.#always;
    if (this.#atStart !== null) marks |= this.#atStart.marksAt(codes, start, end);
    if (this.#indented !== null) marks |= this.#indented.marksAt(codes, contentStart, end);
    if (this.#anyIndented !== 0 && (codes[contentStart] ?? 0) >= BEYOND_ASCII) {
      marks |= this.#anyIndented; // the first character may be a non-ASCII blank, which only `\s` matches
    }
    if (this.#words === null) return marks;
    const words = this.#words.scan(codes, start, end);
    if (words === 0) return marks;
    marks |= words & this.#anywhere;
    if (this.#atStartWithWord !== null) marks |= words & this.#atStartWithWord.marksAt(codes, start, end);
    if (this.#indentedWithWord !== null) marks |= words & this.#indentedWithWord.marksAt(codes, contentStart, end);
    return marks;
  }
}

type MarkedNeed = Need & { readonly mark: number };

function marksOf(needs: readonly MarkedNeed[]): number {
  return needs.reduce((marks, { mark }) => marks | mark, 0);
}

/** The beginnings of these rules, either at the start of a line or after its indentation; `null` if there are none. */
function beginningsOf(needs: readonly MarkedNeed[], indented: boolean): Beginnings | null {
  const beginnings = new Beginnings();
  let count = 0;
  for (const { begins, indented: behindIndentation, mark } of needs) {
    if (begins === null || behindIndentation !== indented) continue;
    beginnings.add(begins, mark);
    count++;
  }
  return count === 0 ? null : beginnings;
}

/** Necessary conditions for a line to match one branch of a pattern. */
interface Need {
  /**
   * Possible first characters by position, after the indentation if `indented`; `null` if a match may begin anywhere.
   */
  readonly begins: readonly CharSet[] | null;
  readonly indented: boolean;
  /** Words of which the line must contain one (lower case, `0` for any digit); empty if no word is required. */
  readonly words: readonly string[];
}

/** Maximum number of spellings enumerated for a part of a pattern. Set by hand, like all below. */
const MOST_SPELLINGS = 24;
/** Maximum number of repetitions that are expanded. */
const MOST_REPEATS = 8;
/** Minimum length of a word if the beginning is known; shorter ones occur in too many lines. */
const LEAST_WORD = 3;

/** Needs of a pattern, one per branch. A line that fulfils none of them cannot match. */
export function needsOf(pattern: RegExp): Need[] {
  return branchesOf(parsePattern(pattern)).map((items): Need => {
    const words = bestWords(items);
    if (items[0]?.type !== 'start') return { begins: null, indented: false, words };
    const rest = items.slice(1);
    const indented = isIndentation(rest[0]);
    const places = placesOf(indented ? rest.slice(1) : rest);
    // if a blank may follow the indentation, the position of the rest is unknown
    const begins = indented && mayBeBlank(places[0]) ? [] : places;
    return { begins, indented, words: words.every((word) => word.length >= LEAST_WORD) ? words : [] };
  });
}

/** The alternative sequences of a pattern. A choice after an anchor and indentation is split as well. */
function branchesOf(node: Node): Node[][] {
  if (node.type === 'choice') return node.branches.flatMap(branchesOf);
  if (node.type !== 'sequence') return [[node]];
  const items = node.items.flatMap((item) => (item.type === 'sequence' ? item.items : [item]));
  const at = items.findIndex((item) => item.type !== 'start' && !isIndentation(item));
  const first = items[at];
  if (first?.type !== 'choice') return [[...items]];
  return first.branches.flatMap((branch) =>
    branchesOf(branch).flatMap((inner) =>
      branchesOf({ type: 'sequence', items: [...items.slice(0, at), ...inner, ...items.slice(at + 1)] }),
    ),
  );
}

function isIndentation(node: Node | undefined): boolean {
  if (node?.type !== 'repeat' || node.item.type !== 'set') return false;
  return node.item.set.every((has, code) => has === 0 || code === BEYOND_ASCII || isBlankSign(code));
}

function mayBeBlank(set: CharSet | undefined): boolean {
  return set !== undefined && (set[SPACE] === 1 || set.subarray(TAB, CARRIAGE_RETURN + 1).includes(1));
}

/** Character sets at the first positions of a sequence, as far as they are certain. */
function placesOf(items: readonly Node[]): CharSet[] {
  const places: CharSet[] = [];
  for (const [k, item] of items.entries()) {
    if (item.type === 'repeat' && item.least === 0) {
      // either the optional item or the next one
      const [first] = firstPlaces(item.item).sets;
      const [next] = placesOf(items.slice(k + 1));
      if (first !== undefined && next !== undefined) places.push(unite([first, next]));
      break;
    }
    const { sets, open } = firstPlaces(item);
    places.push(...sets);
    if (open || places.length >= MOST_PLACES) break;
  }
  return places.slice(0, MOST_PLACES);
}

/** Character sets at the first positions of a node. `open`: the node's length may differ from their number. */
function firstPlaces(node: Node): { readonly sets: CharSet[]; readonly open: boolean } {
  if (node.type === 'set') return { sets: [node.set], open: false };
  if (node.type === 'sequence') return { sets: placesOf(node.items), open: !node.items.every(isPlain) };
  if (node.type === 'empty' || node.type === 'start') return { sets: [], open: false };
  if (node.type === 'repeat' && node.item.type === 'set' && node.least > 0) {
    const { set } = node.item;
    return { sets: Array.from({ length: Math.min(node.least, MOST_PLACES) }, () => set), open: true };
  }
  if (node.type === 'repeat' && node.least > 0) return { ...firstPlaces(node.item), open: true };
  if (node.type !== 'choice') return { sets: [], open: true };
  // only positions that all branches have
  const branches = node.branches.map((branch) => firstPlaces(branch).sets);
  const length = Math.min(...branches.map((sets) => sets.length));
  const sets = Array.from({ length }, (_, k) => unite(branches.map((branch) => branch[k] ?? new Uint8Array())));
  return { sets, open: true };
}

function isPlain(node: Node): boolean {
  return node.type === 'set' || node.type === 'empty';
}

function unite(sets: readonly CharSet[]): CharSet {
  return new Uint8Array(BEYOND_ASCII + 1).map((_, code) => Number(sets.some((set) => set[code] === 1)));
}

/**
 * Words of which every match contains at least one, taken from the part of the sequence whose shortest word is longest.
 */
function bestWords(items: readonly Node[]): string[] {
  let best: string[] = [];
  const offer = (words: readonly string[]): void => {
    if (shortest(words) > shortest(best)) best = withoutLonger(words);
  };
  let run: readonly string[] = [''];
  for (const item of items) {
    const spellings = spellingsOf(item);
    const joined = spellings === null ? null : join(run, spellings);
    if (joined !== null) {
      run = joined;
      offer(run);
      continue;
    }
    if (spellings === null) offer(wordsIn(item));
    run = spellings ?? [''];
    offer(run);
  }
  return best;
}

/** The words of a node with too many spellings. */
function wordsIn(node: Node): string[] {
  if (node.type === 'sequence') return bestWords(node.items);
  if (node.type === 'repeat') return node.least > 0 ? bestWords([node.item]) : [];
  if (node.type !== 'choice') return [];
  const branches = node.branches.map((branch) => bestWords([branch]));
  return branches.some((words) => words.length === 0) ? [] : branches.flat();
}

/** All spellings of a node, or `null` if there are too many. */
function spellingsOf(node: Node): string[] | null {
  if (node.type === 'empty' || node.type === 'start') return [''];
  if (node.type === 'set') return node.char !== '' ? [node.char] : membersOf(node.set);
  if (node.type === 'sequence') {
    return node.items.reduce<string[] | null>(
      (all, item) => (all === null ? null : join(all, spellingsOf(item))),
      [''],
    );
  }
  if (node.type === 'choice') {
    const all = node.branches.map(spellingsOf);
    const flat = all.flatMap((spellings) => spellings ?? []);
    return all.includes(null) || flat.length > MOST_SPELLINGS ? null : flat;
  }
  if (node.most > MOST_REPEATS) return null;
  let all: string[] | null = [];
  for (let count = node.least; count <= node.most; count++) {
    const times: string[] | null = Array.from({ length: count }).reduce<string[] | null>(
      (before) => (before === null ? null : join(before, spellingsOf(node.item))),
      [''],
    );
    all = times === null || all === null ? null : [...all, ...times];
  }
  return all;
}

/** Members of a small set of ASCII characters, ignoring case, with all digits as one. */
function membersOf(set: CharSet): string[] | null {
  if (set[BEYOND_ASCII] === 1) return null;
  const members = new Set<string>();
  set.forEach((has, code) => {
    if (has === 1) members.add(isDigit(code) ? ANY_DIGIT : String.fromCharCode(code).toLowerCase());
  });
  return members.size > 4 ? null : [...members];
}

function join(heads: readonly string[], tails: readonly string[] | null): string[] | null {
  if (tails === null || heads.length * tails.length > MOST_SPELLINGS) return null;
  return heads.flatMap((head) => tails.map((tail) => head + tail));
}

function shortest(words: readonly string[]): number {
  return words.length === 0 ? 0 : Math.min(...words.map((word) => word.length));
}

/** Removes words that contain another word, since they add no information. */
function withoutLonger(words: readonly string[]): string[] {
  const different = [...new Set(words)];
  return different.filter((word) => !different.some((other) => other !== word && word.includes(other)));
}
