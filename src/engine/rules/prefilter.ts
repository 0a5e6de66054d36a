import { BEYOND_ASCII } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import { Beginnings } from './beginnings.ts';
import { type Need, needsOf } from './needs.ts';
import { WordAutomaton } from './word-automaton.ts';

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
