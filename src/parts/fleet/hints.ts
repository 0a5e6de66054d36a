import type { Correlation, FleetEvent } from './ports.ts';

/** Correlation that a call states. */
export interface Hints {
  readonly run_id?: string | undefined;
  readonly op_id?: string | undefined;
  readonly job_id?: string | undefined;
  readonly graph_id?: string | undefined;
  readonly node_id?: string | undefined;
  readonly child_id?: string | undefined;
}

/** The caller: a child with its own address, or any other client. */
export interface Caller {
  /** `null` for the parent agent, a person or another program. */
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

/** An event with the correlation of `about`. Payloads contain ids and numbers only. */
export function eventOf(
  kind: string,
  about: Partial<Correlation>,
  payload: FleetEvent['payload'],
  level: FleetEvent['level'] = 'info',
): FleetEvent {
  const { runId = null, opId = null, jobId = null, graphId = null, nodeId = null, childId = null } = about;
  return { kind, level, runId: runId ?? NO_RUN, opId, jobId, graphId, nodeId, childId, payload };
}
