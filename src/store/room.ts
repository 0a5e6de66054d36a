/** Largest excess of stored bytes over the limit: as much again, but at most this. */
const MAX_SLACK_BYTES = 268_435_456;
const LIVING_MS = 600_000;

/**
 * Stored bytes beyond which a store accepts no new original, so that its size stays bounded however fast originals
 * arrive. The range between the limit and this value is for texts that wait for compression.
 */
export function roomLimit(maxBytes: number): number {
  return maxBytes + Math.min(maxBytes, MAX_SLACK_BYTES);
}

/** Age below which an item belongs to an active conversation and is never evicted. */
export function livingMs(ttlMs: number): number {
  return Math.min(LIVING_MS, ttlMs / 8);
}
