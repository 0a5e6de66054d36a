/** How far the stored bytes may exceed their limit at all: as much again, but no more than this. */
const MAX_SLACK_BYTES = 268_435_456;
const LIVING_MS = 600_000;

/**
 * Stored bytes beyond which a store takes no new original, so that its size stays bounded however fast originals come.
 * Between the limit and this lies room for texts that still wait for their compression.
 */
export function roomLimit(maxBytes: number): number {
  return maxBytes + Math.min(maxBytes, MAX_SLACK_BYTES);
}

/** What was stored or used so short a time ago belongs to a conversation that lives: it is never evicted. */
export function livingMs(ttlMs: number): number {
  return Math.min(LIVING_MS, ttlMs / 8);
}
