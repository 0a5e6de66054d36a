import type { z } from 'zod';
import type { Hints } from '../hints.ts';
import type { ChildRecord } from '../ports.ts';
import type { childFields } from './input.ts';
import type { LimitChanges } from './limits.ts';

/** A request to start a child. */
export interface ChildInput extends Omit<z.infer<z.ZodObject<typeof childFields>>, 'limits'> {
  readonly child_id?: string | undefined;
  readonly limits?: LimitChanges | undefined;
}

/** The start parameters of a child. They are stored and never shown. */
export type StartSpec = Pick<ChildInput, 'agent' | 'command' | 'args' | 'prompt' | 'model' | 'cwd' | 'env'>;

export interface SpawnInput extends Omit<Hints, 'child_id'>, Pick<ChildInput, 'role' | 'limits'> {
  readonly child_id: string;
  readonly manifest_path: string;
  readonly child_id_hint?: string | undefined;
}

const ENDED_STATES = ['terminated', 'error', 'killed', 'lost'] as const;

export function hasEnded({ state }: Pick<ChildRecord, 'state'>): boolean {
  return (ENDED_STATES as readonly string[]).includes(state);
}

/** Whether the child has, or may soon have, a process. */
export function isActive({ state }: Pick<ChildRecord, 'state'>): boolean {
  return state === 'starting' || state === 'running' || state === 'stopping';
}

/** A child as shown in answers. */
export function manifestOf(record: ChildRecord, nowMs: number) {
  const { usage, correlation, startedMs, endedMs } = record;
  const tokens = usage.tokensIn + usage.tokensOut;
  return {
    child_id: record.childId,
    agent: record.agent,
    command: record.command,
    state: record.state,
    pid: record.pid,
    role: record.role,
    limits: record.limits,
    limits_unenforced: record.limitsUnenforced,
    usage: {
      messages: usage.messages,
      tokens_in: usage.tokensIn,
      tokens_out: usage.tokensOut,
      tokens,
      cost_usd: usage.costUsd,
      wallclock_ms: startedMs === null ? 0 : Math.max(0, (endedMs ?? nowMs) - startedMs),
    },
    created_at: record.createdMs,
    started_at: startedMs,
    attached_at: record.attachedMs,
    ended_at: endedMs,
    exit_code: record.exitCode,
    signal: record.signal,
    stop_reason: record.stopReason,
    starts: record.starts,
    workdir: record.workdir,
    manifest_path: record.manifestPath,
    logs_uri: `sc://children/${encodeURIComponent(record.childId)}/logs`,
    run_id: correlation.runId,
    op_id: correlation.opId,
    job_id: correlation.jobId,
    graph_id: correlation.graphId,
    node_id: correlation.nodeId,
    child_id_hint: correlation.childId,
    metadata: record.metadata,
  };
}

export type Manifest = ReturnType<typeof manifestOf>;
