import { BAR, BEYOND_ASCII, COMMA, SPACE, TAB } from '../text/chars.ts';

/** Minimum number of words in a line of prose; shorter lines are names or fields. Set by hand, like the next. */
const LEAST_PROSE_WORDS = 5;
/** Minimum number of letters per punctuation sign in prose. */
const LETTERS_PER_SIGN = 6;

/** Character classes for columns and prose. */
const BLANK = 0;
const LETTER = 1;
const TABULATOR = 2;
const COMMA_SIGN = 3;
const BAR_SIGN = 4;
const OTHER = 5;
/** Class per UTF-16 unit; non-ASCII characters count as letters. */
const CLASSES = new Uint8Array(65536).fill(LETTER).fill(OTHER, 0, BEYOND_ASCII);
CLASSES.fill(LETTER, 65, 91).fill(LETTER, 97, 123);
CLASSES[SPACE] = BLANK;
CLASSES[TAB] = TABULATOR;
CLASSES[COMMA] = COMMA_SIGN;
CLASSES[BAR] = BAR_SIGN;

/** Counts the lines with the same number of separators or the same column positions. */
export class ColumnCounts {
  readonly #tabs = new Map<number, number>();
  readonly #commas = new Map<number, number>();
  readonly #bars = new Map<number, number>();
  /** Number of lines per column position; a column begins after two or more blanks. */
  readonly #places = new Map<number, number>();

  /**
   * Counts a line by its characters in `[from, to)`, in one pass.
   *
   * @returns whether the line is prose: several lower-case words, little punctuation
   */
  add(codes: Uint16Array, from: number, to: number): boolean {
    let tabs = 0;
    let commas = 0;
    let bars = 0;
    let words = 0;
    let letters = 0;
    let others = 0;
    let run = 0;
    let blanks = 0;
    for (let i = from; i < to; i++) {
      const kind = CLASSES[codes[i] ?? 0];
      if (kind !== BLANK) {
        if (blanks > 1 && i - blanks > from) count(this.#places, i - from);
        blanks = 0;
      } else blanks++;
      if (kind === LETTER) {
        letters++;
        run++;
        continue;
      }
      if (run > 1) words++;
      run = 0;
      if (kind === BLANK) continue;
      others++;
      if (kind === TABULATOR) tabs++;
      else if (kind === COMMA_SIGN) commas++;
      else if (kind === BAR_SIGN) bars++;
    }
    if (run > 1) words++;
    if (tabs > 1) count(this.#tabs, tabs);
    if (commas > 1) count(this.#commas, commas);
    if (bars > 1) count(this.#bars, bars);
    return words >= LEAST_PROSE_WORDS && letters > others * LETTERS_PER_SIGN;
  }

  /** Largest number of lines with equal counts (two or more) of tabs, commas or bars. */
  equal(): number {
    return Math.max(0, ...this.#tabs.values(), ...this.#commas.values(), ...this.#bars.values());
  }

  /**
   * Number of lines that share the second most common column position. A single shared position would also occur in a
   * list with descriptions.
   */
  aligned(): number {
    return [...this.#places.values()].sort((a, b) => b - a)[1] ?? 0;
  }
}

function count(map: Map<number, number>, key: number): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}
