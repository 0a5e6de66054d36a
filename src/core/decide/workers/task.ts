import type { Decision } from '../../ports.ts';
import type { Job } from '../decision.ts';

/** Input of a worker. */
export interface Task {
  readonly job: Job;
  readonly key: string;
  /** CPU time limit in milliseconds. If absent, `timeoutMs` applies. */
  readonly cpuMs: number | undefined;
  /** Remaining time of the caller, in milliseconds. A duration, because the clocks of two threads differ. */
  readonly timeoutMs: number;
  readonly opinions: Float64Array | null;
}

/** Result of a worker: `null` after a failure. */
export interface Answer {
  readonly decision: Decision | null;
}
