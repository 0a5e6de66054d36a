import type { SweepLimits } from '../handle.ts';
import { livingMs, roomLimit } from '../room.ts';
import type { Tables } from './tables.ts';

/** Limits of one sweep step's deletions, in milliseconds and rows, whichever comes first. */
const STEP_MS = 4;
export const STEP_ROWS = 500;
/** The remaining allowance of a step. */
export class Budget {
  readonly #endMs = performance.now() + STEP_MS;
  #rows = STEP_ROWS;

  /** Consumes one row; `false` when the allowance is used up. */
  take(): boolean {
    return this.#rows-- > 0 && performance.now() < this.#endMs;
  }
}

/** The effect of a part of a step, and whether it has more to do. */
export interface Part {
  readonly done: number;
  readonly more: boolean;
}

/** Deletes expired items, oldest first; inside the caller's transaction. */
export function expire({ decisions, marks, sent }: Tables, nowMs: number, budget: Budget): Part {
  let done = marks.expire(nowMs, STEP_ROWS) + sent.trim(nowMs, STEP_ROWS);
  const more = done >= STEP_ROWS;
  for (let row = decisions.oldestPrune(); row && row.expires_ms <= nowMs; row = decisions.oldestPrune()) {
    if (!budget.take()) return { done, more: true };
    decisions.removePrune(row.id);
    done++;
  }
  for (let row = decisions.oldestWhole(); row && row.expires_ms <= nowMs; row = decisions.oldestWhole()) {
    if (!budget.take()) return { done, more: true };
    decisions.removeWhole(row.id);
    done++;
  }
  return { done, more };
}

/**
 * Deletes the least recently used items until the stored bytes are within the limit; inside the caller's transaction.
 * While texts wait for compression, which may free enough, the limit is half-way to `roomLimit`.
 */
export function evict(tables: Tables, { maxBytes, ttlMs }: SweepLimits, nowMs: number, budget: Budget): Part {
  const { decisions, snapshots, meter } = tables;
  const limit = snapshots.unpacked(1).length > 0 ? (maxBytes + roomLimit(maxBytes)) / 2 : maxBytes;
  const livingFrom = nowMs + ttlMs - livingMs(ttlMs);
  let done = 0;
  while (meter('stored_bytes') > limit) {
    if (!budget.take()) return { done, more: true };
    const prune = decisions.oldestPrune();
    const whole = decisions.oldestWhole();
    if (Math.min(prune?.expires_ms ?? Infinity, whole?.expires_ms ?? Infinity) > livingFrom) break;
    if (prune && (!whole || prune.expires_ms <= whole.expires_ms)) decisions.removePrune(prune.id);
    else if (whole) decisions.removeWhole(whole.id);
    else break;
    done++;
  }
  return { done, more: false };
}

/** Deletes conversations not seen for a lifetime, and directives beyond their bound; as `expire`. */
export function forget({ segments, directives, meter }: Tables, beforeMs: number, budget: Budget): Part {
  const forgotten = segments.expire(beforeMs, budget, (conversation) => directives.dropSteps(conversation));
  const trimmed = directives.trim(meter('directives'), STEP_ROWS);
  return { done: forgotten.done + trimmed, more: forgotten.more || trimmed >= STEP_ROWS };
}
