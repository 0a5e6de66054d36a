import { contentOf, type View } from '../text/view.ts';
import type { LineRule } from './line-rule.ts';
import { Prefilter } from './prefilter.ts';

/** Maximum number of rules, because each is one bit of a number. */
const MOST_RULES = 31;

/** Finds the rules that match a line. A pattern is tried only on lines that may match it. */
export class Matcher<Name extends string> {
  /** Each distinct name with the bits of its rules. */
  readonly named: readonly { readonly name: Name; readonly bits: number }[];
  readonly #rules: readonly LineRule<Name>[];
  /** Created lazily: creation takes milliseconds, and most processes never see all kinds of text. */
  #prefilter: Prefilter | null = null;

  /** @param rules - several rules may share a name */
  constructor(rules: readonly LineRule<Name>[]) {
    if (rules.length > MOST_RULES) throw new RangeError(`${rules.length} rules, at most ${MOST_RULES}`);
    this.#rules = rules;
    this.named = [...new Set(rules.map(({ name }) => name))].map((name) => ({ name, bits: this.bitsOf(name) }));
  }

  /** Combined bits of the rules with these names. */
  bitsOf(...names: readonly Name[]): number {
    return this.#rules.reduce((bits, { name }, k) => (names.includes(name) ? bits | (1 << k) : bits), 0);
  }

  /** Bits of the rules that the non-blank line with index `i` may match; a small superset of its matches. */
  candidates(view: View, i: number): number {
    this.#prefilter ??= new Prefilter(this.#rules.map(({ pattern }) => pattern));
    return this.#prefilter.candidates(view, i);
  }

  /** Bits of the rules among `which` that match the first `cap` characters of line index `i`. */
  matches(view: View, i: number, cap: number, which = -1): number {
    const may = this.candidates(view, i) & which;
    return may === 0 ? 0 : this.fitting(contentOf(view, i, cap), may);
  }

  /** Bits of the rules among `which` whose pattern matches a line. */
  fitting(line: string, which: number): number {
    let fit = 0;
    for (let may = which; may !== 0; may &= may - 1) {
      const bit = may & -may;
      if (this.#rules[31 - Math.clz32(bit)]?.pattern.test(line) === true) fit |= bit;
    }
    return fit;
  }
}

/** One pattern that is tried only on lines that may match it. */
export class LinePattern {
  readonly pattern: RegExp;
  readonly #matcher: Matcher<''>;

  constructor(pattern: RegExp) {
    this.pattern = pattern;
    this.#matcher = new Matcher([{ name: '', pattern }]);
  }

  /** Whether the first `cap` characters of the non-blank line with index `i` match. */
  fits(view: View, i: number, cap?: number): boolean {
    return this.#matcher.candidates(view, i) !== 0 && this.pattern.test(contentOf(view, i, cap));
  }
}
