import type { Correlation, FleetEvent } from '../core/ports/fleet.ts';

/** What a call says that it belongs to. */
export interface Hints {
  readonly run_id?: string | undefined;
  readonly op_id?: string | undefined;
  readonly job_id?: string | undefined;
  readonly graph_id?: string | undefined;
  readonly node_id?: string | undefined;
  readonly child_id?: string | undefined;
}

/** Who calls: a child by its own address, or anybody else. */
export interface Caller {
  /** `null` for the parent, a person or another program. */
  readonly childId: string | null;
}

/** Events without a run of their own belong to this one. */
const NO_RUN = 'mcp';

/** Hints as they are kept. */
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

/** An event of something that belongs where `about` says. Payloads hold ids and numbers only. */
export function eventOf(
  kind: string,
  about: Partial<Correlation>,
  payload: FleetEvent['payload'],
  level: FleetEvent['level'] = 'info',
): FleetEvent {
  const { runId = null, opId = null, jobId = null, graphId = null, nodeId = null, childId = null } = about;
  return { kind, level, runId: runId ?? NO_RUN, opId, jobId, graphId, nodeId, childId, payload };
}
