import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { ExchangeUsage } from 'mcp-pruner/core/ports/exchange-usage.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { z } from 'zod';
import type { ChildRecord } from '../ports.ts';
import type { FleetStore } from '../tables/fleet-store.ts';
import type { Environment } from './environment.ts';
import type { childFields } from './input.ts';
import type { Ceilings, LimitChanges } from './limits.ts';
import type { Places } from './places.ts';
import type { Processes } from './processes.ts';

/** How to start a named agent with one prompt. */
interface AgentLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

export interface ChildrenOptions {
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly places: Places;
  readonly newId: () => string;
  /** 128 random bits in hex. */
  readonly newToken: () => string;
  /** Id of this server. */
  readonly instanceId: string;
  readonly pid: number;
  /** Base URL at which children reach this server, without a path. */
  readonly url: () => string;
  /** Parent folder of all children's private files. */
  readonly folder: string;
  /** The server's own environment. */
  readonly env: Environment;
  /** Further server variables inherited by children. */
  readonly handedOn: readonly string[];
  /** Further variables that a call may set. */
  readonly settable: readonly string[];
  readonly maxChildren: number;
  readonly graceMs: number;
  readonly ceilings: Ceilings;
  /** @returns `null` for an unknown agent */
  readonly launch: (
    agent: string,
    request: {
      readonly url: string;
      readonly token: string;
      readonly prompt: string;
      readonly model: string | null;
      readonly folder: string;
    },
  ) => AgentLaunch | null;
  /** Cost of a request in dollars; `null` if its model has no known price. */
  readonly costOf: (usage: ExchangeUsage) => number | null;
  readonly onFailure: FailureReporter;
}

/** Maximum number of stored records. */
export const MAX_RECORDS = 1_000;

/** A request to start a child. */
export interface ChildInput extends Omit<z.infer<z.ZodObject<typeof childFields>>, 'limits'> {
  readonly child_id?: string | undefined;
  readonly limits?: LimitChanges | undefined;
}

/** Start parameters of a child. Stored, but never shown. */
export type StartSpec = Pick<ChildInput, 'agent' | 'command' | 'args' | 'prompt' | 'model' | 'cwd' | 'env'>;

const ENDED_STATES = ['terminated', 'error', 'killed', 'lost'] as const;

export function hasEnded({ state }: Pick<ChildRecord, 'state'>): boolean {
  return (ENDED_STATES as readonly string[]).includes(state);
}

/** Whether the child has, or may soon have, a process. */
export function isActive({ state }: Pick<ChildRecord, 'state'>): boolean {
  return state === 'starting' || state === 'running' || state === 'stopping';
}

/** A child, as shown in answers. */
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
