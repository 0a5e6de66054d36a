import type { View } from '../text/view.ts';

/**
 * Words by which lines of a program's output draw attention, looked for in one pass: many regular expressions need not be
 * tried on a line that has none of the words without which they cannot match.
 */
export const CRY = {
  /** `error`, `exception`, `traceback` */
  failure: 1,
  /** what else tells of trouble: `fatal`, `fail`, `cannot`, `not ok`, … */
  trouble: 2,
  /** whatever may make a line hot, besides the two above */
  hot: 4,
  /** `warn`, `retry`, `deprecat`, `slow` */
  warm: 8,
  /** `group`, which opens a step of a build */
  group: 16,
  /** results of tests in capitals or not: `passed`, `failed`, `skipped`, `xfail`, `xpass` */
  result: 32,
  /** `error`, `warning`, `note`, as compilers name what they found */
  diagnostic: 64,
  /** three dots */
  dots: 128,
} as const;

/** What each word stands for; a digit stands for any digit, and `✗` for any of the signs of failure. */
const WORDS: readonly (readonly [words: string, cries: number])[] = [
  ['error', CRY.failure | CRY.diagnostic],
  ['exception,traceback', CRY.failure],
  ['failed', CRY.result],
  ['fatal,panic,fail,assert,abort,segfault,segmentation,not ok,cannot,denied,✗', CRY.trouble],
  [
    'undefined,not found,timedout,timed out,timeout,time out,unexpected,refused,killed,unable,invalid,missing,e000',
    CRY.hot,
  ],
  ['warn,retry,deprecat,slow', CRY.warm],
  ['group', CRY.group],
  ['passed,skipped,xfail,xpass', CRY.result],
  ['warning,note', CRY.diagnostic],
  ['...', CRY.dots],
];

const OTHER = 0;
const BLANK = 27;
const DIGIT = 28;
const SIGN = 29;
const DOT = 30;
const LETTERS = 32;

const ALPHABET = new Uint8Array(65536).fill(DIGIT, 48, 58);
for (let k = 0; k < 26; k++) ALPHABET[65 + k] = ALPHABET[97 + k] = k + 1;
ALPHABET[32] = BLANK;
ALPHABET[46] = DOT;
for (const sign of '✗✖✕') ALPHABET[sign.charCodeAt(0)] = SIGN;

/** An automaton that finds all words at once: the next state by state and letter, and what is found on reaching one. */
interface Automaton {
  readonly next: Uint16Array;
  readonly found: Uint8Array;
}

let automaton: Automaton | undefined;

/** Which of `CRY` occur in `[start, end)` of a text's UTF-16 units. */
export function cryOf(codes: Uint16Array, start: number, end: number): number {
  automaton ??= build();
  const { next, found } = automaton;
  let state = 0;
  let cries = 0;
  for (let i = start; i < end; i++) {
    state = next[state * LETTERS + (ALPHABET[codes[i] ?? 0] ?? OTHER)] ?? 0;
    cries |= found[state] ?? 0;
  }
  return cries;
}

const known = new WeakMap<View, Uint8Array>();

/** `cryOf` of line index `i`, without a look at any other. */
export function cryAt(view: View, i: number): number {
  return known.get(view)?.[i] ?? cryOf(view.codes, view.ink[i] ?? 0, view.to[i] ?? 0);
}

/** `cryOf` of every line. */
export function criesOf(view: View): Uint8Array {
  const before = known.get(view);
  if (before !== undefined) return before;
  const cries = new Uint8Array(view.n);
  for (let i = 0; i < view.n; i++) cries[i] = cryOf(view.codes, view.ink[i] ?? 0, view.to[i] ?? 0);
  known.set(view, cries);
  return cries;
}

/** Aho and Corasick's automaton over `WORDS`. */
function build(): Automaton {
  const next: number[][] = [[]];
  const found: number[] = [0];
  for (const [words, cries] of WORDS) {
    for (const word of words.split(',')) {
      let state = 0;
      for (const letter of word) {
        const row = next[state] ?? [];
        const k = ALPHABET[letter.charCodeAt(0)] ?? OTHER;
        const known = row[k];
        if (known === undefined) {
          row[k] = next.length;
          state = next.push([]) - 1;
          found.push(0);
        } else state = known;
      }
      found[state] = (found[state] ?? 0) | cries;
    }
  }
  const table = new Uint16Array(next.length * LETTERS);
  const fallback = new Uint16Array(next.length);
  const queue = [0];
  for (const state of queue) {
    const back = fallback[state] ?? 0;
    found[state] = (found[state] ?? 0) | (state === 0 ? 0 : (found[back] ?? 0));
    for (let k = 0; k < LETTERS; k++) {
      const to = next[state]?.[k];
      const elsewhere = state === 0 ? 0 : (table[back * LETTERS + k] ?? 0);
      table[state * LETTERS + k] = to ?? elsewhere;
      if (to === undefined) continue;
      fallback[to] = elsewhere;
      queue.push(to);
    }
  }
  return { next: table, found: Uint8Array.from(found) };
}
