/** Pairs of characters with a blank that tell something where they stand in a line, as bits. */
export const HELD = {
  /** `[` behind a blank */
  bracket: 1,
  /** `=` between blanks */
  equals: 2,
} as const;

const TAB = 9;
const SPACE = 32;
const COMMA = 44;
const PARENTHESIS = 40;
const EQUALS = 61;
const BRACKET = 91;
const BAR = 124;

/** Characters of which the names of files and their listings consist: others are no part of them. */
const OF_NAMES = new Uint8Array(65536).fill(1, 48, 59).fill(1, 64, 91).fill(1, 95, 96).fill(1, 97, 123);
for (const sign of '.+ -/') OF_NAMES[sign.charCodeAt(0)] = 1;

/** What one look at the characters of a line tells. */
export class LineLook {
  /** Bits of `HELD`. */
  held = 0;
  tabs = 0;
  commas = 0;
  bars = 0;
  /** Whether it has a `(`. */
  parenthesis = false;
  /** Whether it has no other characters than names of files do. */
  named = true;
  /** Several words in lower case, few signs. */
  prose = false;
  /** Columns, counted from the line's start, that begin two blanks or more behind what is before. */
  readonly columns: number[] = [];

  /** Looks at the characters in `[from, to)`. */
  read(codes: Uint16Array, from: number, to: number): void {
    let held = 0;
    let tabs = 0;
    let commas = 0;
    let bars = 0;
    let parenthesis = 0;
    let foreign = 0;
    let words = 0;
    let letters = 0;
    let others = 0;
    let run = 0;
    let blanks = 0;
    if (this.columns.length > 0) this.columns.length = 0; // V8 takes its time for that, and most lines have none
    const indented = codes[from] === SPACE;
    for (let i = from; i < to; i++) {
      const code = codes[i] ?? 0;
      foreign |= 1 - (OF_NAMES[code] ?? 0);
      const folded = code | 32;
      if ((folded >= 97 && folded <= 122) || folded > 127) {
        if (blanks > 1 && !indented) this.columns.push(i - from);
        blanks = 0;
        letters++;
        run++;
        continue;
      }
      if (run > 1) words++;
      run = 0;
      if (folded !== SPACE) others++;
      if (code === SPACE) {
        blanks++;
        continue;
      }
      // columns, two blanks or more apart (`column -t`, `kubectl get`)
      if (blanks > 1 && !indented) this.columns.push(i - from);
      if (code === TAB) tabs++;
      else if (code === COMMA) commas++;
      else if (code === BAR) bars++;
      else if (code === PARENTHESIS) parenthesis = 1;
      else if (code === BRACKET && blanks > 0) held |= HELD.bracket;
      else if (code === EQUALS && blanks > 0 && i + 1 < to && codes[i + 1] === SPACE) held |= HELD.equals;
      blanks = 0;
    }
    if (run > 1) words++;
    this.held = held;
    this.tabs = tabs;
    this.commas = commas;
    this.bars = bars;
    this.parenthesis = parenthesis !== 0;
    this.named = foreign === 0;
    this.prose = words >= 5 && letters > others * 6;
  }
}
