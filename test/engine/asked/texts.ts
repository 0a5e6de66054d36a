import type { Hints } from '../../../src/engine/types.ts';

/** A text, a question about it, and the lines without which the question cannot be answered. */
export interface AskedCase {
  readonly name: string;
  readonly goal: string;
  readonly lines: readonly string[];
  /** Indices of the lines that answer. */
  readonly answers: readonly number[];
  readonly hints: Hints;
  /** The whole text may stay. */
  readonly mayStay?: boolean;
}

export const command = (line: string): Hints => ({ origin: 'command', command: line });

/** Numbers from 0 to 1, the same for the same seed. */
export function draws(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export const two = (number: number): string => String(number).padStart(2, '0');

const DONE = [
  'cache warmed',
  'order accepted',
  'basket merged',
  'mail queued',
  'stock checked',
  'price looked up',
  'address resolved',
  'voucher applied',
  'session renewed',
  'index refreshed',
];
export const saying = (i: number): string => `${DONE[(i * 7_919) % DONE.length]} in shard ${(i * 31) % 17}`;

/** Lines of a text, with some lines of it made by another function. */
export function mixed(
  n: number,
  at: readonly number[],
  line: (i: number) => string,
  special: (i: number) => string,
): string[] {
  const chosen = new Set(at);
  return Array.from({ length: n }, (_, i) => (chosen.has(i) ? special(i) : line(i)));
}

/** `count` different indices below `n`, ascending. */
export function places(n: number, count: number, seed: number): number[] {
  const draw = draws(seed);
  const found = new Set<number>();
  while (found.size < count) found.add(Math.floor(draw() * n));
  return [...found].sort((a, b) => a - b);
}
