import { ANY_DIGIT } from './pattern-parser.ts';

/** Finds which of many words occur in a text range, in one pass (Aho-Corasick). */
export class WordAutomaton {
  /** The column of each UTF-16 unit in the table; 0 for units that occur in no word. */
  readonly #columns = new Uint8Array(65536);
  #width = 1;
  /** The next state, by state (a multiple of the width) and column. */
  readonly #next: Uint16Array;
  /** First state in which a word ends. End states come last, so that a single comparison detects them. */
  readonly #firstEnd: number;
  /** For each end state, by its position in the table: the marks of the words that end there. */
  readonly #found: Int32Array;

  /** @param words - lower case, `0` for any digit; each with the bits to report for an occurrence in any case */
  constructor(words: readonly (readonly [word: string, marks: number])[]) {
    for (const [word] of words) for (const char of word) this.#addToAlphabet(char);
    const width = this.#width;
    const { rows, found } = trieOf(words, (char) => this.#columns[char.charCodeAt(0)] ?? 0);
    const next = complete(rows, found, width);
    const inOrder = [...found.keys()].sort((a, b) => Number(found[a] !== 0) - Number(found[b] !== 0) || a - b);
    const placeOf = new Uint16Array(found.length);
    for (const [k, state] of inOrder.entries()) placeOf[state] = k * width;
    this.#firstEnd = found.filter((marks) => marks === 0).length * width;
    this.#found = new Int32Array(found.length * width);
    this.#next = new Uint16Array(next.length);
    for (const [state, marks] of found.entries()) {
      const place = placeOf[state] ?? 0;
      this.#found[place] = marks;
      for (let k = 0; k < width; k++) this.#next[place + k] = placeOf[next[state * width + k] ?? 0] ?? 0;
    }
  }

  /** Combined marks of all words in `[start, end)`. */
  scan(codes: Uint16Array, start: number, end: number): number {
    const columns = this.#columns;
    const next = this.#next;
    const found = this.#found;
    const firstEnd = this.#firstEnd;
    let state = 0;
    let marks = 0;
    for (let at = start; at < end; at++) {
      state = next[state + (columns[codes[at] ?? 0] ?? 0)] ?? 0;
      if (state >= firstEnd) marks |= found[state] ?? 0;
    }
    return marks;
  }

  #addToAlphabet(char: string): void {
    if (this.#columns[char.charCodeAt(0)] !== 0) return;
    const column = this.#width++;
    if (char === ANY_DIGIT) this.#columns.fill(column, 48, 58);
    this.#columns[char.charCodeAt(0)] = column;
    this.#columns[char.toUpperCase().charCodeAt(0)] = column;
  }
}

/**
 * Completes the transition table for all characters; indexed by state times `width` plus column. Adds the marks of
 * shorter words that end in the same state to `found`.
 */
function complete(rows: readonly ReadonlyMap<number, number>[], found: number[], width: number): Uint16Array {
  if (rows.length * width > 65_535) throw new RangeError('too many words for one automaton');
  const next = new Uint16Array(rows.length * width);
  const fallback = new Uint16Array(rows.length);
  const queue = [0];
  for (const state of queue) {
    const back = fallback[state] ?? 0;
    found[state] = (found[state] ?? 0) | (found[back] ?? 0);
    for (let column = 0; column < width; column++) {
      const to = rows[state]?.get(column);
      const elsewhere = state === 0 ? 0 : (next[back * width + column] ?? 0);
      next[state * width + column] = to ?? elsewhere;
      if (to === undefined) continue;
      fallback[to] = elsewhere;
      queue.push(to);
    }
  }
  return next;
}

/** The trie of the words: the transitions of each state, and the marks of words that end there. */
function trieOf(
  words: readonly (readonly [word: string, marks: number])[],
  columnOf: (char: string) => number,
): { readonly rows: Map<number, number>[]; readonly found: number[] } {
  const rows = [new Map<number, number>()];
  const found = [0];
  for (const [word, marks] of words) {
    let state = 0;
    for (const char of word) {
      const row = rows[state];
      const column = columnOf(char);
      const known = row?.get(column);
      state = known ?? rows.length;
      if (known !== undefined) continue;
      row?.set(column, state);
      rows.push(new Map());
      found.push(0);
    }
    found[state] = (found[state] ?? 0) | marks;
  }
  return { rows, found };
}
