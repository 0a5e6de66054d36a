import { performance } from 'node:perf_hooks';

/** Fields that say what a case is; a shrunk one would be another case or none. */
const FIXED = new Set(['kind', 'wire', 'wrap', 'shape', 'sourceType', 'origin']);

/**
 * The smallest case found that still fails: list items go, texts get shorter (by lines, then by characters), numbers and
 * switches get simpler, for as long as `fails` says so and the time lasts.
 */
export async function shrink<T>(value: T, fails: (candidate: T) => Promise<boolean>, forMs = 20_000): Promise<T> {
  const until = performance.now() + forMs;
  let best = value;
  for (let progress = true; progress && performance.now() < until; ) {
    progress = false;
    for (const candidate of smaller(best)) {
      if (performance.now() > until) break;
      if (!(await fails(candidate as T))) continue;
      best = candidate as T;
      progress = true;
      break;
    }
  }
  return best;
}

function* smaller(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) yield* smallerList(value);
  else if (typeof value === 'string') yield* smallerText(value);
  else if (typeof value === 'number') yield* smallerNumber(value);
  else if (value === true) yield false;
  else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      if (FIXED.has(key)) continue;
      for (const candidate of smaller(item)) yield { ...value, [key]: candidate };
    }
  }
}

function* smallerList(items: readonly unknown[]): Generator<unknown[]> {
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < items.length; from += size) yield [...items.slice(0, from), ...items.slice(from + size)];
  }
  for (const [i, item] of items.entries()) {
    for (const candidate of smaller(item)) yield items.with(i, candidate);
  }
}

function* smallerText(text: string): Generator<string> {
  const lines = text.split(/(?<=\n)/);
  const pieces = lines.length > 1 ? lines : text.length > 400 ? (text.match(/.{1,40}/gs) ?? []) : [...text];
  for (let size = Math.ceil(pieces.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < pieces.length; from += size) {
      yield [...pieces.slice(0, from), ...pieces.slice(from + size)].join('');
    }
  }
}

function* smallerNumber(value: number): Generator<number> {
  if (value > 1) yield Math.floor(value / 2);
  if (value >= 1 && Number.isInteger(value)) yield value - 1;
}
