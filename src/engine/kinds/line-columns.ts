import { BAR, BEYOND_ASCII, COMMA, isLetter, SPACE, TAB } from '../text/chars.ts';

/** Fewer words are a name or a field. Chosen, as the next. */
const LEAST_PROSE_WORDS = 5;
/** Prose has so many letters for each sign. */
const LETTERS_PER_SIGN = 6;

/** What one look at the characters of a line tells of columns and of prose. */
export class LineColumns {
  tabs = 0;
  commas = 0;
  bars = 0;
  /** Several words in lower case, few signs. */
  prose = false;
  /** Columns, counted from the line's start, that begin two blanks or more behind what is before. */
  readonly columns: number[] = [];

  /** Looks at the characters in `[from, to)`. */
  read(codes: Uint16Array, from: number, to: number): void {
    let tabs = 0;
    let commas = 0;
    let bars = 0;
    let words = 0;
    let letters = 0;
    let others = 0;
    let run = 0;
    let blanks = 0;
    this.columns.length = 0;
    const indented = codes[from] === SPACE;
    for (let i = from; i < to; i++) {
      const code = codes[i] ?? 0;
      const isText = isLetter(code) || code >= BEYOND_ASCII;
      if (code !== SPACE) {
        if (blanks > 1 && !indented) this.columns.push(i - from);
        blanks = 0;
      } else blanks++;
      if (isText) {
        letters++;
        run++;
        continue;
      }
      if (run > 1) words++;
      run = 0;
      if (code !== SPACE) others++;
      if (code === TAB) tabs++;
      else if (code === COMMA) commas++;
      else if (code === BAR) bars++;
    }
    if (run > 1) words++;
    this.tabs = tabs;
    this.commas = commas;
    this.bars = bars;
    this.prose = words >= LEAST_PROSE_WORDS && letters > others * LETTERS_PER_SIGN;
  }
}

/** Counts how many lines agree in their number of separators, or in where their columns stand. */
export class ColumnCounts {
  readonly #counts = [new Map<number, number>(), new Map<number, number>(), new Map<number, number>()] as const;
  readonly #places = new Map<number, number>();

  add({ tabs, commas, bars, columns }: LineColumns): void {
    for (const place of columns) count(this.#places, place);
    if (tabs > 1) count(this.#counts[0], tabs);
    if (commas > 1) count(this.#counts[1], commas);
    if (bars > 1) count(this.#counts[2], bars);
  }

  /** The most lines that have the same number of tabs, commas or bars, and more than one. */
  equal(): number {
    return Math.max(0, ...this.#counts.flatMap((map) => [...map.values()]));
  }

  /** Lines that agree on the second best place of a column: one place alone is a list with explanations. */
  aligned(): number {
    return [...this.#places.values()].sort((a, b) => b - a)[1] ?? 0;
  }
}

function count(map: Map<number, number>, key: number): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}
