import type { EventRecord } from 'mcp-pruner/core/ports.ts';
import type { BoardStore } from './ports/board.ts';
import type { ChildStore } from './ports/children.ts';
import type { GraphStore } from './ports/graphs.ts';

export type * from './ports/board.ts';
export type * from './ports/children.ts';
export type * from './ports/graphs.ts';

/**
 * The store of the fleet. Every method is one transaction including its events, and may reject with `StoreUnavailable`.
 */
export interface FleetStore {
  readonly graphs: GraphStore;
  readonly board: BoardStore;
  readonly field: FieldStore;
  readonly children: ChildStore;
  readonly plans: PlanStore;
  readonly contracts: ContractStore;
  /** Records events without a change through the stores above. */
  record(events: readonly FleetEvent[]): Promise<void>;
}

export interface ContractRecord {
  readonly callId: string;
  readonly taskId: string;
  readonly status: 'awarded' | 'completed';
  readonly announcedMs: number;
  readonly deadlineMs: number | null;
  readonly completedMs: number | null;
  readonly agentId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ContractStore {
  /** Makes an award. `decide` gets the number of open awards per agent, and must be pure: it may be called again. */
  announce(
    decide: (
      openAwards: ReadonlyMap<string, number>,
      nowMs: number,
    ) => {
      readonly record: ContractRecord;
      readonly events: readonly FleetEvent[];
    },
  ): Promise<ContractRecord>;
  get(callId: string): Promise<ContractRecord | null>;
  complete(callId: string, events: (record: ContractRecord) => readonly FleetEvent[]): Promise<ContractRecord | null>;
}

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
  /** Writes a new run, replacing an ended run with the same id; `null` if that run is still in progress. */
  begin(record: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null>;
  /** Updates a run, and deletes the oldest ended runs beyond `atMost`. */
  save(record: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void>;
  get(runId: string): Promise<PlanRecord | null>;
  /** Unfinished runs; with `opId`, only of that operation. */
  open(opId?: string): Promise<readonly PlanRecord[]>;
  /** The newest run of an operation. */
  byOperation(opId: string): Promise<PlanRecord | null>;
}

export interface StoredPoint {
  readonly nodeId: string;
  readonly type: string;
  readonly intensity: number;
  readonly updatedAt: number;
}

export interface PointChange {
  readonly point: StoredPoint;
  readonly nodeTotal: { readonly nodeId: string; readonly intensity: number; readonly updatedAt: number };
}

/** Store of a pheromone field. */
export interface FieldStore {
  /** Adds to intensities, all or none; `null` if there is no room. */
  mark(
    marks: readonly { readonly nodeId: string; readonly type: string; readonly intensity: number }[],
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[] | null>;
  /**
   * Replaces every point by the result of `change`, a few hundred per transaction; points with intensity 0 are deleted.
   *
   * @param change - must be pure, because it may be called again; several applications must equal one
   */
  update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]>;
  points(): Promise<{ readonly points: readonly StoredPoint[]; readonly atMs: number }>;
}

/** An event of the fleet; the store adds its time. */
export type FleetEvent = Omit<EventRecord, 'tsMs'>;

/** Correlation of everything created by a call. */
export interface Correlation {
  readonly runId: string | null;
  readonly opId: string | null;
  readonly jobId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string | null;
}

/** Correlation stated in a call. */
export interface Hints {
  readonly run_id?: string | undefined;
  readonly op_id?: string | undefined;
  readonly job_id?: string | undefined;
  readonly graph_id?: string | undefined;
  readonly node_id?: string | undefined;
  readonly child_id?: string | undefined;
}

/** The caller: a child with its own URL, or any other client. */
export interface Caller {
  /** `null` for a parent agent, a person or another program. */
  readonly childId: string | null;
}

/** The run id of events without a run. */
const NO_RUN = 'mcp';

/** Converts hints to stored correlation. */
export function correlationOf(hints: Hints, caller?: Caller): Correlation {
  return {
    runId: hints.run_id ?? null,
    opId: hints.op_id ?? null,
    jobId: hints.job_id ?? null,
    graphId: hints.graph_id ?? null,
    nodeId: hints.node_id ?? null,
    childId: hints.child_id ?? caller?.childId ?? null,
  };
}

/** Creates an event with the correlation of `about`. Payloads contain only ids and numbers. */
export function eventOf(
  kind: string,
  about: Partial<Correlation>,
  payload: FleetEvent['payload'],
  level: FleetEvent['level'] = 'info',
): FleetEvent {
  const { runId = null, opId = null, jobId = null, graphId = null, nodeId = null, childId = null } = about;
  return { kind, level, runId: runId ?? NO_RUN, opId, jobId, graphId, nodeId, childId, payload };
}
