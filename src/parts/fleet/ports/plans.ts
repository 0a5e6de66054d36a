import type { FleetEvent } from './events.ts';

export type PlanState = 'running' | 'paused' | 'done' | 'failed' | 'cancelled';

export interface PlanRecord {
  readonly runId: string;
  readonly opId: string;
  readonly mode: 'bt' | 'reactive';
  readonly state: PlanState;
  readonly progress: number;
  readonly startedMs: number;
  readonly updatedMs: number;
  readonly finishedMs: number | null;
  readonly pausedMs: number | null;
  readonly dryRun: boolean;
  readonly reason: string | null;
  readonly result: unknown;
  readonly instanceId: string;
}

export interface PlanStore {
  /** Writes a new run, which replaces an ended run with the same id; `null` while that run is still in progress. */
  begin(record: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null>;
  /** Deletes the oldest ended runs beyond `atMost`. */
  save(record: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void>;
  get(runId: string): Promise<PlanRecord | null>;
  /** Runs that have not ended; with `opId`, only those of that operation. */
  open(opId?: string): Promise<readonly PlanRecord[]>;
  /** The newest run of an operation. */
  byOperation(opId: string): Promise<PlanRecord | null>;
}
