/** Classes of UTF-16 units for the estimate. */
const SPACE = 0;
const LETTER = 1;
const DIGIT = 2;
const PUNCT = 3;
const LINE_END = 4;
const OTHER = 5;
/** Stands for what is before a text. */
const NOTHING = 7;
const LINE_FEED = 10;

const CLASSES = new Uint8Array(65536).fill(OTHER).fill(PUNCT, 0, 128).fill(SPACE, 0, 33).fill(DIGIT, 48, 58);
CLASSES.fill(LETTER, 65, 91).fill(LETTER, 97, 123);
CLASSES[127] = SPACE;
CLASSES[LINE_FEED] = LINE_END;

/** Tokens that a unit of each class costs; then what a word costs besides, and what a run of blanks saves. */
const UNIT_COSTS = [0, 0.173, 0.76, 0.66, 1.49, 1.45];
const WORD_COST = 0.088;
const RUN_SAVING = 0.09;

/** What a unit costs, in thousandths of a token so that sums are exact: by eight times the class before it and its own. */
const COSTS = new Float64Array(64);
for (let previous = 0; previous < 8; previous++) {
  for (const [kind, cost] of UNIT_COSTS.entries()) COSTS[previous * 8 + kind] = Math.round(cost * 1000);
  if (previous !== LETTER) COSTS[previous * 8 + LETTER] = Math.round((WORD_COST + (UNIT_COSTS[LETTER] ?? 0)) * 1000);
  if (previous !== SPACE) COSTS[previous * 8 + SPACE] = -Math.round(RUN_SAVING * 1000);
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

/** Lines of a text and what they cost. */
export interface LineCosts {
  readonly count: number;
  /** Where each line begins, and at last where the text ends. */
  readonly starts: Uint32Array;
  /** Tokens of each line with its ending, as `estimateTokens` gives them. */
  readonly tokens: Float64Array;
  /** The same unrounded, in thousandths: the sum over some lines in a row is their common cost. */
  readonly costs: Float64Array;
}

/** Finds the lines of a text and estimates each, in one pass. `codes` are the text's UTF-16 units. */
export function estimateLines(text: string, codes: Uint16Array): LineCosts {
  const end = codes.length;
  let room = Math.max(16, end >> 5);
  let starts = new Uint32Array(room);
  let costs = new Float64Array(room);
  let count = 0;
  let cost = 0;
  let previous = NOTHING;
  for (let i = 0; i < end; i++) {
    const kind = CLASSES[codes[i] ?? 0] ?? OTHER;
    cost += COSTS[previous * 8 + kind] ?? 0;
    previous = kind;
    if (kind !== LINE_END && i < end - 1) continue;
    costs[count++] = cost;
    cost = 0;
    previous = NOTHING;
    if (count + 1 >= room) {
      room *= 2;
      starts = copied(starts, new Uint32Array(room));
      costs = copied(costs, new Float64Array(room));
    }
    starts[count] = i + 1;
  }
  const tokens = new Float64Array(count);
  for (let i = 0; i < count; i++) tokens[i] = tokensOf(costs[i] ?? 0, text, starts[i] ?? 0, starts[i + 1] ?? 0);
  return { count, starts: starts.slice(0, count + 1), tokens, costs: costs.slice(0, count) };
}

function copied<T extends Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Tokens of the part of a text that costs so much. */
export function tokensOf(cost: number, text: string, start: number, end: number): number {
  const tokens = cost % 1000 === 500 ? Math.round(sumByClass(text, start, end)) : Math.round(cost / 1000);
  return Math.max(start < end ? 1 : 0, tokens);
}

/** Which way a half is rounded has always been left to this sum, and stored decisions hang on it. */
function sumByClass(text: string, start: number, end: number): number {
  const units = [0, 0, 0, 0, 0, 0];
  let words = 0;
  let runs = 0;
  let previous = NOTHING;
  for (let i = start; i < end; i++) {
    const kind = CLASSES[text.charCodeAt(i)] ?? OTHER;
    units[kind] = (units[kind] ?? 0) + 1;
    if (kind === LETTER && previous !== LETTER) words++;
    if (kind === SPACE && previous !== SPACE) runs++;
    previous = kind;
  }
  const of = (kind: number): number => (UNIT_COSTS[kind] ?? 0) * (units[kind] ?? 0);
  return WORD_COST * words + of(LETTER) + of(DIGIT) + of(PUNCT) + of(LINE_END) + of(OTHER) - RUN_SAVING * runs;
}
