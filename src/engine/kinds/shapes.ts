import { cryAt } from '../rules/cries.ts';
import { openings } from '../rules/openings.ts';
import { codesOf } from '../text/codes.ts';
import { contentOf, isBlankLine, isUnnumbered, type View } from '../text/view.ts';
import { firstWord, firstWordOf } from './code/declarations.ts';
import { isHit } from './grep-hits.ts';
import { HELD, LineLook } from './line-look.ts';
import { ALL, BY_CRY, BY_FIRST, BY_HELD, BY_INK, BY_LAST, bitOf, RULES, type Shapes } from './shape-rules.ts';

export const SAMPLE_LINES = 240;
const READ_CHARS = 240;

/** The line that is looked at. */
const look = new LineLook();

/** One of several looks at a text, each at other lines of the sample. */
export interface Look {
  readonly which: number;
  readonly of: number;
}

const WHOLE: Look = { which: 0, of: 1 };

/** Looks at lines all over a text, the first ones more closely. What is rare but telling is looked for in all of them. */
export function countShapes(view: View, { which, of }: Look = WHOLE): Shapes {
  const s: Shapes = {
    lines: 0,
    diff: 0,
    hunks: 0,
    grep: 0,
    listing: 0,
    json: 0,
    table: 0,
    aligned: 0,
    testing: 0,
    compiler: 0,
    stamped: 0,
    failing: 0,
    frames: 0,
    headings: 0,
    codeLike: 0,
    prose: 0,
    rst: 0,
  };
  const columns = new Columns();
  const step = Math.max(1, Math.floor(view.n / SAMPLE_LINES));
  for (let i = 0, k = 0; i < view.n; i += i < SAMPLE_LINES / 3 ? 1 : step, k++) {
    if (isBlankLine(view, i) || isUnnumbered(view, i)) continue;
    if (k % of !== which) {
      countIn(view, i, (BY_FIRST[view.codes[view.from[i] ?? 0] ?? 0] ?? 0) & RARE, s);
      continue;
    }
    look.read(view.codes, view.from[i] ?? 0, endOf(view, i));
    s.lines++;
    countLine(view, i, s);
    columns.add(look);
    if (look.prose) s.prose++;
  }
  s.table = columns.equal();
  s.aligned = columns.aligned();
  return s;
}

/** Behind what is read of a line. */
function endOf({ from, to }: View, i: number): number {
  return Math.min(to[i] ?? 0, (from[i] ?? 0) + READ_CHARS);
}

/** What a single line of tells what a text is; by its first character most lines are known to be none. */
const RARE = bitOf('diff') | bitOf('hunks') | bitOf('headings') | bitOf('rst');
const GREP = bitOf('grep');
const STAMPED = bitOf('stamped');

/** Counts a line for each shape whose pattern it matches. */
function countLine(view: View, i: number, s: Shapes): void {
  let may = chanceOf(view, i);
  const from = view.from[i] ?? 0;
  // what nearly every line of a log or a search is asked needs no pattern
  if ((may & STAMPED) !== 0 && beginsWithDate(view.codes, from, endOf(view, i))) {
    s.stamped++;
    may &= ~STAMPED;
  }
  if ((may & GREP) !== 0) {
    if (isHit(view.codes, from, endOf(view, i))) s.grep++;
    may &= ~GREP;
  }
  countIn(view, i, may, s);
}

/** Counts a line for each of these `RULES` (as bits) whose pattern it matches. */
function countIn(view: View, i: number, rules: number, s: Shapes): void {
  if (rules === 0) return;
  const line = contentOf(view, i, READ_CHARS);
  for (let may = rules; may !== 0; may &= may - 1) {
    const rule = RULES[31 - Math.clz32(may & -may)];
    if (rule?.pattern.test(line)) s[rule.shape]++;
  }
}

/** Which of `RULES` a line may fit, as bits. */
function chanceOf(view: View, i: number): number {
  const { codes } = view;
  const from = view.from[i] ?? 0;
  const to = view.to[i] ?? 0;
  const ink = view.ink[i] ?? 0;
  const first = codes[from] ?? 0;
  const inked = codes[ink] ?? 0;
  const last = codes[to - 1] ?? 0;
  if (to - from > READ_CHARS || first > 127 || inked > 127 || last > 127) return ALL;
  const chance = (BY_FIRST[first] ?? 0) | (BY_INK[inked] ?? 0) | (BY_LAST[last] ?? 0);
  let not = 0;
  if (!look.named && !mayListOthers(first, codes[from + 1] ?? 0, inked)) not |= LISTING;
  if (!mayBeJson(codes, ink, to)) not |= JSON_LINE;
  if (ink === from && !isCapital(first) && first !== LETTER_G) not |= FRAMES;
  if (!mayBeCode(view, i)) not |= CODE;
  return (chance & ~not) | (BY_CRY[cryAt(view, i)] ?? 0) | (BY_HELD[look.held] ?? 0);
}

const LISTING = bitOf('listing');
const JSON_LINE = bitOf('json');
const FRAMES = bitOf('frames');
const CODE = bitOf('codeLike');
const LETTER_G = 103;
const LETTER_T = 116;

/** Signs of a tree, letters that name the type of a file, rights. */
const LISTED = openings('|`+', 'd-lbcps', 'rwxsStT-');

/** Whether a line that holds more than names may be one of a listing: a branch of a tree, `-rw-r--r--`, `total`. */
function mayListOthers(first: number, second: number, inked: number): boolean {
  if (((LISTED[inked] ?? 0) & 1) !== 0 || first === LETTER_T) return true;
  return ((LISTED[first] ?? 0) & 2) !== 0 && ((LISTED[second] ?? 0) & 4) !== 0;
}

/** What JSON on a line of its own may begin and end with: brackets; words; strings end with anything. */
const JSON_BEGINS = openings('[]{}', 'tfn', '"', '-0123456789');
const JSON_ENDS = openings('[]{},', 'el,');
const BRACKETS = 1;
const QUOTED = 4;
const NUMBER = 8;
/** What numbers consist of, and the comma behind them. */
const OF_NUMBERS = openings('.0123456789eE+-,');

function mayBeJson(codes: Uint16Array, ink: number, to: number): boolean {
  const begins = JSON_BEGINS[codes[ink] ?? 0] ?? 0;
  if (begins === NUMBER) {
    let at = ink;
    while (at < to && OF_NUMBERS[codes[at] ?? 0] !== 0) at++;
    return at === to;
  }
  if (begins === BRACKETS && to - ink > 2) return false;
  return begins === QUOTED || (begins & (JSON_ENDS[codes[to - 1] ?? 0] ?? 0)) !== 0;
}

/** How code may begin and end: what is so by its end alone, after a call, by a comment. */
const CODE_ENDS = openings(';{}', ')');
const COMMENTS = openings('#/*');
const COLON = 58;
const CODE_WORDS = new Set(
  'def class import from return if for while func fn let const var public private static use package end elif else try except'
    .split(' ')
    .map(firstWordOf),
);

function mayBeCode({ codes, ink, to }: View, i: number): boolean {
  const start = ink[i] ?? 0;
  const end = to[i] ?? 0;
  const last = codes[end - 1] ?? 0;
  const ends = CODE_ENDS[last] ?? 0;
  if (ends === 1 || (look.parenthesis && (ends !== 0 || last === COLON)) || (look.held & HELD.equals) !== 0)
    return true;
  return COMMENTS[codes[start] ?? 0] !== 0 || CODE_WORDS.has(firstWord(codes, start, end));
}

function isCapital(code: number): boolean {
  return code >= 65 && code <= 90;
}

/** How a date with its time begins, and what else may stand at each place; a digit stands for any. */
const DATE = codesOf('0000-00-00T00:00');
const OTHER_DATE = codesOf('0000/00/00 00:00');
const ZERO = 48;

function beginsWithDate(codes: Uint16Array, from: number, to: number): boolean {
  if (to - from < DATE.length) return false;
  for (let k = 0; k < DATE.length; k++) {
    const code = codes[from + k] ?? 0;
    if (DATE[k] === ZERO ? code < ZERO || code > ZERO + 9 : code !== DATE[k] && code !== OTHER_DATE[k]) return false;
  }
  return true;
}

/** Counts how many lines agree in their number of separators, or in where their columns stand. */
class Columns {
  readonly #counts = [new Map<number, number>(), new Map<number, number>(), new Map<number, number>()] as const;
  readonly #places = new Map<number, number>();

  add({ tabs, commas, bars, columns }: LineLook): void {
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
