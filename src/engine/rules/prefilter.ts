import { BEYOND_ASCII } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import { type Need, needsOf } from './needs.ts';
import type { CharSet } from './pattern-parser.ts';
import { WordAutomaton } from './word-automaton.ts';

const SIZE = BEYOND_ASCII + 1;
/** Characters that are spelled out at one place; a larger set ends what is looked at of a beginning. Chosen: it would distinguish few lines at the cost of many states. */
const MOST_SPELLED = 16;

/** Returns which rules a line may match, by its first few characters. */
class Beginnings {
  /** The next state (a multiple of `SIZE`) by state and character; 0 for none. */
  #next = new Int32Array(SIZE * 16);
  /** By state: marks of the rules whose beginning ends there. */
  readonly #marks: number[] = [0];

  /** Adds the beginning of a rule: sets of characters, place by place; with none the rule fits any line. */
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

  /** The marks of all rules that a line which begins at `start` may fit. */
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
 * Finds which of some patterns a line may match, all of them at once: before one is tried the line must have what the pattern
 * cannot do without, a beginning or a word. Both are read from the patterns. What a line may fit are bits, of the first
 * pattern the lowest.
 */
export class Prefilter {
  /** How rules begin at the start of a line and behind its indentation; `null` where none does. */
  readonly #atStart: Beginnings | null;
  readonly #indented: Beginnings | null;
  /** The same of rules that need a word besides their beginning. */
  readonly #atStartWithWord: Beginnings | null;
  readonly #indentedWithWord: Beginnings | null;
  readonly #words: WordAutomaton | null;
  /** Rules that ask for nothing that could be looked up. */
  readonly #always: number;
  /** Rules that begin somewhere behind the indentation, whatever blank ends it. */
  readonly #anyIndented: number;
  /** Rules of which a word is enough to be tried. */
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

  /** Bits of the rules that line index `i`, which is not blank, may fit: all that it fits, and few others. */
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

/** How these rules begin, of those at the start of a line or behind its indentation; `null` where none does. */
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
