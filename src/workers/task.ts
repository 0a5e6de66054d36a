import type { Job } from '../core/decide/decision.ts';
import type { Decision } from '../core/ports.ts';

/** What a worker is given to decide. */
export interface Task {
  readonly job: Job;
  readonly key: string;
  /** How long it may take, in milliseconds; clocks of two threads do not agree. */
  readonly timeoutMs: number;
  readonly opinions: Float64Array | null;
}

/** What a worker gives back: `null` where it failed. */
export interface Answer {
  readonly decision: Decision | null;
}
