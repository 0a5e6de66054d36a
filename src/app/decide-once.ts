import type { Settings } from '../config/settings.ts';
import type { Decider } from '../core/decide/decider.ts';
import { DecideOnce } from '../core/decide/once.ts';
import type { Clock, Store } from '../core/ports.ts';

/** Of the memory for what was decided, for single texts; the rest is for whole bodies. The store has both. */
export const DECISIONS_SHARE = 1 / 32;

/** The one memory of decisions, for requests and for calls. */
export function decideOnceOf(settings: Settings, store: Store, clock: Clock, decider?: Decider): DecideOnce {
  return new DecideOnce({
    store,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    memoBytes: settings.memoMaxBytes * DECISIONS_SHARE,
    decider,
  });
}
