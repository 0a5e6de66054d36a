import { LINE_FEED } from './chars.ts';

/** Character classes for the estimate. */
const BLANK = 0;
const LETTER = 1;
const DIGIT = 2;
const PUNCT = 3;
const LINE_END = 4;
const OTHER = 5;
/** Costs as much as a blank, but is not trimmed from lines. */
const CONTROL = 6;
/** Class before the first character. */
const NOTHING = 7;

const CLASSES = new Uint8Array(65536).fill(OTHER).fill(PUNCT, 0, 128).fill(CONTROL, 0, 33).fill(DIGIT, 48, 58);
CLASSES.fill(LETTER, 65, 91).fill(LETTER, 97, 123).fill(BLANK, 9, 14);
CLASSES[32] = BLANK;
CLASSES[127] = CONTROL;
CLASSES[LINE_FEED] = LINE_END;

/**
 * Cost in tokens per unit of each class, extra cost per word, and saving per run of blanks. They approximate o200k and
 * must not change, because stored decisions depend on them.
 */
const UNIT_COSTS = [0, 0.173, 0.76, 0.66, 1.49, 1.45, 0];
const WORD_COST = 0.088;
const RUN_SAVING = 0.09;
const isSpace = (kind: number): boolean => kind === BLANK || kind === CONTROL;

/**
 * Cost of a unit in thousandths of a token, so that sums are exact. Indexed by eight times the previous unit's class
 * plus its own.
 */
const COSTS = new Int32Array(64);
for (let previous = 0; previous < 8; previous++) {
  for (const [kind, cost] of UNIT_COSTS.entries()) COSTS[previous * 8 + kind] = Math.round(cost * 1000);
  if (previous !== LETTER) COSTS[previous * 8 + LETTER] = Math.round((WORD_COST + (UNIT_COSTS[LETTER] ?? 0)) * 1000);
  if (isSpace(previous)) continue;
  COSTS[previous * 8 + BLANK] = COSTS[previous * 8 + CONTROL] = -Math.round(RUN_SAVING * 1000);
}

/**
 * Estimates the o200k tokens of a text by character class: linear, free of allocation, safe on any input (an exact
 * tokenizer is quadratic on unbroken runs).
 *
 * @returns a whole number; 0 for the empty text
 */
export function estimateTokens(text: string, start = 0, end = text.length): number {
  let cost = 0;
  let previous = NOTHING;
  for (let i = start; i < end; i++) {
    const kind = CLASSES[text.charCodeAt(i)] ?? OTHER;
    cost += COSTS[previous * 8 + kind] ?? 0;
    previous = kind;
  }
  return tokensOf(cost, text, start, end);
}

interface LineCosts {
  readonly count: number;
  /** The offset of each line, followed by the length of the text. */
  readonly starts: Uint32Array;
  /**
   * The offset of the first non-blank unit of each line, and the offset after the last one; both are equal for a blank
   * line.
   */
  readonly firstNonBlank: Uint32Array;
  readonly to: Uint32Array;
  /** Tokens of each line with its ending, equal to `estimateTokens`. */
  readonly tokens: Float64Array;
  /** The same, unrounded and in thousandths, so that costs of consecutive lines add up. */
  readonly costs: Float64Array;
}

/** Finds the lines of a text and estimates each, in one pass. `codes` contains the text's UTF-16 units. */
export function estimateLines(text: string, codes: Uint16Array): LineCosts {
  const table = new LineTable(Math.max(64, codes.length >> 4));
  const count = scanLines(codes, table);
  const starts = table.starts.subarray(0, count + 1);
  const costs = table.costs.subarray(0, count);
  const tokens = tokensOfLines(text, starts, costs);
  return {
    count,
    starts,
    firstNonBlank: table.firstNonBlank.subarray(0, count),
    to: table.to.subarray(0, count),
    tokens,
    costs,
  };
}

class LineTable {
  starts: Uint32Array;
  firstNonBlank: Uint32Array;
  to: Uint32Array;
  costs: Float64Array;
  /** Capacity in lines. */
  room: number;

  constructor(room: number) {
    this.starts = new Uint32Array(room + 1);
    this.firstNonBlank = new Uint32Array(room);
    this.to = new Uint32Array(room);
    this.costs = new Float64Array(room);
    this.room = room;
  }

  grow(): void {
    const { starts, firstNonBlank, to, costs } = this;
    this.room *= 2;
    this.starts = new Uint32Array(this.room + 1);
    this.firstNonBlank = new Uint32Array(this.room);
    this.to = new Uint32Array(this.room);
    this.costs = new Float64Array(this.room);
    this.starts.set(starts);
    this.firstNonBlank.set(firstNonBlank);
    this.to.set(to);
    this.costs.set(costs);
  }
}

/**
 * Fills a table with the lines of a text and returns their number. A small hot function, so that V8 can optimise it
 * during its first run.
 */
function scanLines(codes: Uint16Array, table: LineTable): number {
  const end = codes.length;
  let count = 0;
  for (let i = 0; i < end; count++) {
    if (count === table.room) table.grow();
    let cost = 0;
    let previous = NOTHING;
    let kind = BLANK;
    let firstNonBlank = -1;
    let to = i;
    for (; i < end; i++) {
      kind = CLASSES[codes[i] ?? 0] ?? OTHER;
      cost += COSTS[previous * 8 + kind] ?? 0;
      previous = kind;
      if (kind === BLANK) continue;
      if (kind === LINE_END) break;
      if (firstNonBlank < 0) firstNonBlank = i;
      to = i + 1;
    }
    // on a blank line `firstNonBlank` equals `to`
    table.firstNonBlank[count] = firstNonBlank < 0 ? to : firstNonBlank;
    table.to[count] = to;
    table.costs[count] = cost;
    if (kind === LINE_END) i++;
    table.starts[count + 1] = i;
  }
  return count;
}

function tokensOfLines(text: string, starts: Uint32Array, costs: Float64Array): Float64Array {
  const tokens = new Float64Array(costs.length);
  for (let i = 0; i < tokens.length; i++) tokens[i] = tokensOf(costs[i] ?? 0, text, starts[i] ?? 0, starts[i + 1] ?? 0);
  return tokens;
}

/** Cost of one token, in thousandths. */
const COST_OF_TOKEN = 1000;

export function tokensOf(cost: number, text: string, start: number, end: number): number {
  const half = cost > 0 && cost % COST_OF_TOKEN === COST_OF_TOKEN / 2;
  const tokens = half ? Math.round(sumByClass(text, start, end)) : Math.round(cost / COST_OF_TOKEN);
  return Math.max(start < end ? 1 : 0, tokens);
}

/** Sums in a fixed order, because the rounding of halves depends on it, and stored decisions depend on the result. */
function sumByClass(text: string, start: number, end: number): number {
  const units = [0, 0, 0, 0, 0, 0, 0];
  let words = 0;
  let runs = 0;
  let previous = NOTHING;
  for (let i = start; i < end; i++) {
    const kind = CLASSES[text.charCodeAt(i)] ?? OTHER;
    units[kind] = (units[kind] ?? 0) + 1;
    if (kind === LETTER && previous !== LETTER) words++;
    if (isSpace(kind) && !isSpace(previous)) runs++;
    previous = kind;
  }
  const of = (kind: number): number => (UNIT_COSTS[kind] ?? 0) * (units[kind] ?? 0);
  return WORD_COST * words + of(LETTER) + of(DIGIT) + of(PUNCT) + of(LINE_END) + of(OTHER) - RUN_SAVING * runs;
}
