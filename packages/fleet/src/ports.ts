import type { EventRecord } from 'mcp-pruner/core/ports.ts';
import type { z } from 'zod';
import type { hintFields } from './graph/input.ts';

export type * from './ports/board.ts';
export type * from './ports/children.ts';
export type * from './ports/graphs.ts';

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

/** An event of the fleet; the store adds its time. */
export type FleetEvent = Omit<EventRecord, 'tsMs'>;

export interface Correlation {
  readonly runId: string | null;
  readonly opId: string | null;
  readonly jobId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string | null;
}

export type Hints = z.infer<z.ZodObject<typeof hintFields>>;

/** The caller: a child with its own URL, or any other client. */
export interface Caller {
  /** `null` for a parent agent, a person or another program. */
  readonly childId: string | null;
}

const NO_RUN = 'mcp';

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
