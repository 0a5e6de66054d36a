import { BEYOND_ASCII } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import { type Need, needsOf } from './needs.ts';
import type { CharSet } from './pattern-parser.ts';
import { WordAutomaton } from './word-automaton.ts';

const SIZE = BEYOND_ASCII + 1;
/**
 * Most characters at one position that get their own state. A beginning ends before a larger set, which would
 * distinguish few lines at the cost of many states. Chosen.
 */
const MOST_SPELLED = 16;

/** Finds the rules that a line may match, by its first characters. */
class Beginnings {
  /** The next state (a multiple of `SIZE`) by state and character; 0 for none. */
  #next = new Int32Array(SIZE * 16);
  /** Marks of the rules whose beginning ends in a state, by state. */
  readonly #marks: number[] = [0];

  /** Adds the beginning of a rule: sets of characters by position. A rule without any matches every line. */
  add(places: readonly CharSet[], marks: number): void {
    const end = places.findIndex((set) => countOf(set) > MOST_SPELLED);
    let states = new Set([0]);
    for (const set of end < 0 ? places : places.slice(0, end + 1)) {
      const reached = new Set<number>();
      for (const state of states) set.forEach((has, code) => void (has === 1 && reached.add(this.#step(state, code))));
      states = reached;
    }
    for (const state of states) this.#marks[state] = (this.#marks[state] ?? 0) | marks;
  }

  #step(state: number, code: number): number {
    const at = state * SIZE + code;
    const known = (this.#next[at] ?? 0) / SIZE;
    if (known !== 0) return known;
    const made = this.#marks.push(0) - 1;
    if (this.#next.length < this.#marks.length * SIZE) {
      const grown = new Int32Array(this.#next.length * 2);
      grown.set(this.#next);
      this.#next = grown;
    }
    this.#next[at] = made * SIZE;
    return made;
  }

  /** The marks of all rules that a line starting at `start` may match. */
  marksAt(codes: Uint16Array, start: number, end: number): number {
    const next = this.#next;
    let marks = this.#marks[0] ?? 0;
    let state = 0;
    for (let at = start; at < end; at++) {
      const code = codes[at] ?? 0;
      state = next[state + (code < BEYOND_ASCII ? code : BEYOND_ASCII)] ?? 0;
      if (state === 0) break;
      marks |= this.#marks[state / SIZE] ?? 0;
    }
    return marks;
  }
}

function countOf(set: CharSet): number {
  return set.reduce((sum, has) => sum + has, 0);
}

/**
 * Finds all patterns that a line may match in one pass. A pattern is tried only if the line has its required beginning
 * or word, both of which are derived from the pattern. Results are bits; the first pattern has the lowest.
 */
export class Prefilter {
  /** Beginnings of rules at the start of a line and after its indentation; `null` if there are none. */
  readonly #atStart: Beginnings | null;
  readonly #indented: Beginnings | null;
  /** Beginnings of rules that also need a word. */
  readonly #atStartWithWord: Beginnings | null;
  readonly #indentedWithWord: Beginnings | null;
  readonly #words: WordAutomaton | null;
  /** Rules without conditions: they are always tried. */
  readonly #always: number;
  /** Rules that begin somewhere after the indentation, whichever blank ends it. */
  readonly #anyIndented: number;
  /** Rules that are tried if one of their words occurs. */
  readonly #anywhere: number;

  constructor(patterns: readonly RegExp[]) {
    const needs = patterns.flatMap((pattern, k) => needsOf(pattern).map((need) => ({ ...need, mark: 1 << k })));
    const wordless = needs.filter(({ words }) => words.length === 0);
    const worded = needs.filter(({ words }) => words.length > 0);
    // words are looked for only where they spare a pattern that may begin anywhere
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

  /** Bits of the rules that the non-blank line with index `i` may match: all that it does match, and few others. */
  candidates({ codes, from, firstNonBlank, to }: View, i: number): number {
    const start = from[i] ?? 0;
    const contentStart = firstNonBlank[i] ?? 0;
    const end = to[i] ?? 0;
    let marks = this.#always;
    if (this.#atStart !== null) marks |= this.#atStart.marksAt(codes, start, end);
    if (this.#indented !== null) marks |= this.#indented.marksAt(codes, contentStart, end);
    if (this.#anyIndented !== 0 && (codes[contentStart] ?? 0) >= BEYOND_ASCII) {
      marks |= this.#anyIndented; // it may be a blank that only patterns know
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
