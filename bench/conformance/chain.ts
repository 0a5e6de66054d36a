import { createHash } from 'node:crypto';

/** A JSON value with its keys in one order, without fields that clients move from turn to turn. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([key]) => key !== 'cache_control');
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, plain(inner)]));
}

export function digest(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('base64url');
}

/**
 * What stands before each item: entry `i` is a hash of the head and of items `0…i-1`. An item for which `textOf` gives
 * `null` (the model's reasoning) is no part of what it is bound to.
 */
export function chainOf(head: unknown, items: readonly unknown[], textOf: (item: unknown) => string | null): string[] {
  const chain = [digest(JSON.stringify(plain(head)))];
  for (const item of items) {
    const before = chain.at(-1) ?? '';
    const text = textOf(item);
    chain.push(text === null ? before : digest(before, text));
  }
  return chain;
}

/** Index of the first item that differs from what an earlier request sent at its place; -1 if none does. */
export function firstChange(before: readonly string[], now: readonly string[]): number {
  const shared = Math.min(before.length, now.length);
  for (let i = 0; i < shared; i++) if (before[i] !== now[i]) return i;
  return -1;
}
