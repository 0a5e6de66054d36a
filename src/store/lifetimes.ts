import type { StoreOptions } from './handle.ts';

/** How long what a store keeps lives after its last use, in whole milliseconds. */
export interface Lifetimes {
  readonly ttlMs: number;
  /** Of what was sent of messages; no shorter than the other. */
  readonly sentTtlMs: number;
}

/** Of audit events, by default. */
export const YEAR_MS = 365 * 86_400_000;

const SENT_TTL_MS = 90 * 86_400_000;
/** An epoch lasts no longer than this share of a lifetime, which is also what an expiry moves by at the least. */
const EPOCH_SHARE = 1 / 8;

export function lifetimesOf(options: StoreOptions): Lifetimes {
  const ttlMs = Math.max(1, Math.trunc(options.ttlMs));
  return { ttlMs, sentTtlMs: Math.max(ttlMs, Math.trunc(options.sentTtlMs ?? SENT_TTL_MS)) };
}

/** Number of a slice of time: what was stored or touched in it lives on through all of it, even if no use is written. */
export function epochSlice(nowMs: number, { ttlMs }: Lifetimes): number {
  return Math.floor(nowMs / Math.max(1, ttlMs * EPOCH_SHARE));
}
