import type { View } from './view.ts';

/** Line shapes: what a line is when its numbers and ids are taken out. */
export interface Templates {
  /** Shape of each line, ascending in order of first appearance. */
  readonly shape: Int32Array;
  /** Lines by shape. */
  readonly count: Int32Array;
  /** How many lines of the same shape stand above a line. */
  seenBefore(line: number): number;
}

const SHAPE_CHARS = 120;
/** Longer runs count as several; so no line is read more than a few times. */
const MOST_VOLATILE = 64;
const MAX_PROBES = 24;

/** Counts how often each line's shape occurs. Digits and hexadecimal runs are one class; case stays. */
export function readTemplates({ codes, ink, to, n }: View): Templates {
  const shape = new Int32Array(n);
  const count = new Int32Array(n);
  const ordinal = new Int32Array(n);
  let capacity = 1024;
  while (capacity < n * 2) capacity *= 2;
  const hashes = new Int32Array(capacity);
  const slots = new Int32Array(capacity);
  let size = 0;
  for (let i = 0; i < n; i++) {
    const hash = shapeHash(codes, ink[i] ?? 0, to[i] ?? 0);
    let slot = hash & (capacity - 1);
    let id = -1;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const found = hashes[slot];
      if (found === hash) {
        id = slots[slot] ?? 0;
        break;
      }
      if (found === 0) {
        hashes[slot] = hash;
        slots[slot] = size;
        id = size++;
        break;
      }
      slot = (slot + 1) & (capacity - 1);
    }
    if (id < 0) id = slots[hash & (capacity - 1)] ?? 0;
    shape[i] = id;
    ordinal[i] = count[id] ?? 0;
    count[id] = (count[id] ?? 0) + 1;
  }
  return { shape, count, seenBefore: (line) => ordinal[line] ?? 0 };
}

/** Nothing volatile begins with a unit of this class. */
const PLAIN = 0;
const FIGURE = 1;
const HEX_LETTER = 2;
const CLASSES = new Uint8Array(65536).fill(FIGURE, 48, 58).fill(HEX_LETTER, 65, 71).fill(HEX_LETTER, 97, 103);
const FIGURES = 48;

function shapeHash(codes: Uint16Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  let at = start;
  for (let taken = 0; at < end && taken < SHAPE_CHARS; taken++) {
    let code = codes[at] ?? 0;
    if (CLASSES[code] === PLAIN) at++;
    else {
      const run = volatileEnd(codes, at, end);
      if (run > at) {
        code = FIGURES;
        at = run;
      } else at++;
    }
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash === 0 ? 1 : hash;
}

/** End of a run of digits, or of at least six hexadecimal digits with a figure among them, that begins at `at`. */
function volatileEnd(codes: Uint16Array, at: number, end: number): number {
  let seen = 0;
  let i = at;
  const most = Math.min(end, at + MOST_VOLATILE);
  for (; i < most; i++) {
    const kind = CLASSES[codes[i] ?? 0] ?? PLAIN;
    if (kind === PLAIN) break;
    seen |= kind;
  }
  if ((seen & FIGURE) === 0) return at;
  if (seen === FIGURE || i - at >= 6) return i;
  i = at;
  while (i < end && CLASSES[codes[i] ?? 0] === FIGURE) i++;
  return i;
}
