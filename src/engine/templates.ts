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
export function readTemplates(view: View): Templates {
  const shape = new Int32Array(view.n);
  const count = new Int32Array(view.n);
  const ordinal = new Int32Array(view.n);
  let capacity = 1024;
  while (capacity < view.n * 2) capacity *= 2;
  const hashes = new Int32Array(capacity);
  const slots = new Int32Array(capacity);
  let size = 0;
  for (let i = 0; i < view.n; i++) {
    const hash = shapeHash(view.text, view.ink[i] ?? 0, view.to[i] ?? 0);
    let slot = hash & (capacity - 1);
    let id = -1;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      if (hashes[slot] === hash) {
        id = slots[slot] ?? 0;
        break;
      }
      if (hashes[slot] === 0) {
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

function shapeHash(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  let at = start;
  for (let taken = 0; at < end && taken < SHAPE_CHARS; taken++) {
    let code = text.charCodeAt(at);
    const run = volatileEnd(text, at, end);
    if (run > at) {
      code = 48;
      at = run;
    } else at++;
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash === 0 ? 1 : hash;
}

/** End of a run of digits, or of at least six hexadecimal digits with a figure among them, that begins at `at`. */
function volatileEnd(text: string, at: number, end: number): number {
  let digits = false;
  let letters = false;
  let i = at;
  const most = Math.min(end, at + MOST_VOLATILE);
  for (; i < most; i++) {
    const code = text.charCodeAt(i);
    if (code >= 48 && code <= 57) digits = true;
    else if ((code >= 97 && code <= 102) || (code >= 65 && code <= 70)) letters = true;
    else break;
  }
  if (!digits) return at;
  if (!letters || i - at >= 6) return i;
  i = at;
  while (i < end && text.charCodeAt(i) >= 48 && text.charCodeAt(i) <= 57) i++;
  return i;
}
