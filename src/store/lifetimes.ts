import type { StoreOptions } from './handle.ts';

/** Lifetimes of stored items after their last use, in whole milliseconds. */
export interface Lifetimes {
  readonly ttlMs: number;
  /** Of sent-message records; at least as long as `ttlMs`. */
  readonly sentTtlMs: number;
}

/** The default retention of audit events. */
export const YEAR_MS = 365 * 86_400_000;

const SENT_TTL_MS = 90 * 86_400_000;
/** The longest epoch as a share of a lifetime, which is also the smallest step by which an expiry moves. */
const EPOCH_SHARE = 1 / 8;

export function lifetimesOf(options: StoreOptions): Lifetimes {
  const ttlMs = Math.max(1, Math.trunc(options.ttlMs));
  return { ttlMs, sentTtlMs: Math.max(ttlMs, Math.trunc(options.sentTtlMs ?? SENT_TTL_MS)) };
}

/**
 * Number of a time slice. Items stored or used within a slice survive to its end, even if later uses are not written.
 */
export function epochSlice(nowMs: number, { ttlMs }: Lifetimes): number {
  return Math.floor(nowMs / Math.max(1, ttlMs * EPOCH_SHARE));
}
