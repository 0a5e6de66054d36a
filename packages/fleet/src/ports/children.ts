import type { Correlation, FleetEvent } from '../ports.ts';

export type ChildState = 'created' | 'starting' | 'running' | 'stopping' | 'terminated' | 'error' | 'killed' | 'lost';

interface ChildUsage {
  readonly messages: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costUsd: number | null;
  /** Always 0: answers compute the time from `startedMs`. */
  readonly wallclockMs: number;
}

/** A child and its state, without prompt, environment values and token. */
export interface ChildRecord {
  readonly childId: string;
  readonly state: ChildState;
  readonly agent: string | null;
  readonly command: string | null;
  readonly role: string | null;
  readonly limits: Readonly<Record<string, number>>;
  readonly limitsUnenforced: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Hints of the call that created the child, or of a later one; `childId` is the requesting child. */
  readonly correlation: Correlation;
  readonly workdir: string | null;
  readonly manifestPath: string | null;
  /** SHA-256 of the token issued at the child's latest start. */
  readonly tokenHash: string | null;
  /** The server that started or adopted it. */
  readonly instanceId: string;
  readonly pid: number | null;
  /** Start time of the process in system units; distinguishes it from a later process with the same pid. */
  readonly processStart: string | null;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly attachedMs: number | null;
  readonly endedMs: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stopReason: string | null;
  readonly starts: number;
  readonly usage: ChildUsage;
  /** Limits already reported as reached. */
  readonly limitsTold: readonly string[];
}

/** Start parameters of a child. Stored, but never shown. */
export type ChildSpec = Readonly<Record<string, unknown>>;

export interface ChildLogLine {
  readonly stream: 'stdout' | 'stderr' | 'meta';
  readonly message: string;
  readonly parsed: unknown;
}

/** Number of bytes read from the child's two output files. */
export interface LogPositions {
  readonly stdout: number;
  readonly stderr: number;
}

export interface ChildChange {
  readonly record: ChildRecord;
  readonly events?: readonly FleetEvent[];
  readonly logs?: readonly ChildLogLine[];
  readonly spec?: ChildSpec;
}
