import type { Decision } from '../../ports.ts';
import type { Job } from '../decision.ts';

/** Input of a worker. */
export interface Task {
  readonly job: Job;
  readonly key: string;
  /** CPU time that it may take, in milliseconds; absent: `timeoutMs` applies. */
  readonly cpuMs: number | undefined;
  /** How long the caller still waits, in milliseconds; clocks of two threads do not agree. */
  readonly timeoutMs: number;
  readonly opinions: Float64Array | null;
}

/** Result of a worker: `null` after a failure. */
export interface Answer {
  readonly decision: Decision | null;
}
