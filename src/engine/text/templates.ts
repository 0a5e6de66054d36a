import { mixed } from './mix.ts';
import type { View } from './view.ts';

/** Shapes of lines: lines without their numbers and ids. */
export interface Templates {
  /** Shape number of each line; numbered in order of first appearance. */
  readonly shape: Int32Array;
  readonly count: Int32Array;
  /** Number of preceding lines with the same shape. */
  seenBefore(line: number): number;
}

/** Maximum number of units (characters, numbers, ids) in a shape. Set by hand, like the next two. */
const SHAPE_CHARS = 120;
/**
 * Maximum length of a run that is one unit. Longer runs count as several, so that no line is read more than a few
 * times.
 */
const MOST_VOLATILE = 64;
/** Maximum number of probes; afterwards a slot is shared. Crafted lines may make counts inexact, but not quadratic. */
const MAX_PROBES = 24;

/** Counts how often each line shape occurs. All numbers and hexadecimal ids are equal; letters are case-sensitive. */
export function readTemplates({ codes, firstNonBlank, to, n }: View): Templates {
  const shape = new Int32Array(n);
  for (let i = 0; i < n; i++) shape[i] = shapeHash(codes, firstNonBlank[i] ?? 0, to[i] ?? 0);
  const count = new Int32Array(n);
  const ordinal = new Int32Array(n);
  numberShapes(shape, count, ordinal);
  return { shape, count, seenBefore: (line) => ordinal[line] ?? 0 };
}

/**
 * Replaces shape hashes by ids and counts them. `ordinal` receives the number of preceding lines with the same shape.
 */
function numberShapes(shape: Int32Array, count: Int32Array, ordinal: Int32Array): void {
  let capacity = 1024;
  while (capacity < shape.length * 2) capacity *= 2;
  const hashes = new Int32Array(capacity);
  const slots = new Int32Array(capacity);
  let size = 0;
  for (let i = 0; i < shape.length; i++) {
    const hash = shape[i] ?? 0;
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
}

/** Class of characters that cannot begin a number or id. */
const PLAIN = 0;
const FIGURE = 1;
const HEX_LETTER = 2;
const CLASSES = new Uint8Array(65536).fill(FIGURE, 48, 58).fill(HEX_LETTER, 65, 71).fill(HEX_LETTER, 97, 103);
/** Represents any number or id in a shape: the code of `0`. */
const FIGURES = 48;
/** Shorter runs of hexadecimal digits are words (`face`, `dead`). Set by hand. */
const LEAST_HEX = 6;
/** Offset basis and prime of FNV-1a. */
const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/** Hash of the current line before each unit. */
const before = new Int32Array(SHAPE_CHARS);

/**
 * Hash of a line's shape. A run of decimal digits counts as one unit, and so does a run of at least six hexadecimal
 * digits if one of them is a decimal digit. Letters are hashed immediately, and undone if a later digit shows that they
 * belong to a hexadecimal run.
 */
export function shapeHash(codes: Uint16Array, start: number, end: number): number {
  let hash = OFFSET;
  let at = start;
  let taken = 0;
  /** Offset after the last run that was a unit. */
  let floor = start;
  while (at < end && taken < SHAPE_CHARS) {
    let code = codes[at] ?? 0;
    if (CLASSES[code] === FIGURE) {
      const letters = lettersBefore(codes, floor, at);
      if (letters >= MOST_VOLATILE) return slowShapeHash(codes, start, end);
      const run = hexEnd(codes, at, Math.min(end, at - letters + MOST_VOLATILE));
      if (run - at + letters >= LEAST_HEX) {
        taken -= letters;
        if (letters > 0) hash = before[taken] ?? 0;
        at = run;
      } else at = figuresEnd(codes, at, run);
      code = FIGURES;
      floor = at;
    } else at++;
    before[taken++] = hash;
    hash = Math.imul(hash ^ code, PRIME);
  }
  // a run that continues after the last unit may contain a digit
  if (at < end && CLASSES[codes[at] ?? 0] !== PLAIN && lettersBefore(codes, floor, at) > 0) {
    return slowShapeHash(codes, start, end);
  }
  return mixed(hash);
}

/** The number of hexadecimal letters directly before `at`, in `[floor, at)`, at most the length of a run. */
function lettersBefore(codes: Uint16Array, floor: number, at: number): number {
  let from = at;
  while (from > floor && CLASSES[codes[from - 1] ?? 0] === HEX_LETTER && at - from < MOST_VOLATILE) from--;
  return at - from;
}

function hexEnd(codes: Uint16Array, at: number, end: number): number {
  let run = at;
  while (run < end && CLASSES[codes[run] ?? 0] !== PLAIN) run++;
  return run;
}

function figuresEnd(codes: Uint16Array, at: number, end: number): number {
  let run = at;
  while (run < end && CLASSES[codes[run] ?? 0] === FIGURE) run++;
  return run;
}

/** Reference implementation of `shapeHash`: run by run, without undo. */
export function slowShapeHash(codes: Uint16Array, start: number, end: number): number {
  let hash = OFFSET;
  let at = start;
  /** Offset up to which no number or id begins. */
  let plain = start;
  for (let taken = 0; at < end && taken < SHAPE_CHARS; taken++) {
    let code = codes[at] ?? 0;
    if (at < plain || CLASSES[code] === PLAIN) at++;
    else {
      let seen = 0;
      let figures = at;
      let run = at;
      const most = Math.min(end, at + MOST_VOLATILE);
      while (run < most) {
        const kind = CLASSES[codes[run] ?? 0] ?? PLAIN;
        if (kind === PLAIN) break;
        seen |= kind;
        run++;
        if (seen === FIGURE) figures = run;
      }
      const hex = (seen & FIGURE) !== 0 && run - at >= LEAST_HEX;
      if (hex) figures = run;
      if (figures > at) {
        code = FIGURES;
        at = figures;
      } else {
        // a run without a digit is not an id, unless it continues beyond the examined part
        if ((seen & FIGURE) === 0 && run < at + MOST_VOLATILE) plain = run;
        at++;
      }
    }
    hash = Math.imul(hash ^ code, PRIME);
  }
  return mixed(hash);
}
