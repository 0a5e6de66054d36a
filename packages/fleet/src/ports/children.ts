import type { Correlation, FleetEvent } from '../ports.ts';

export type ChildState = 'created' | 'starting' | 'running' | 'stopping' | 'terminated' | 'error' | 'killed' | 'lost';

interface ChildUsage {
  /** Number of model requests. */
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

/** Data written along with a child's record. */
export interface ChildChange {
  readonly record: ChildRecord;
  readonly events?: readonly FleetEvent[];
  readonly logs?: readonly ChildLogLine[];
  /** Replaces the start parameters. */
  readonly spec?: ChildSpec;
}

export interface ChildStore {
  /** Adds a child; `false` if the id exists. Deletes the oldest ended records beyond `atMost`. */
  insert(change: ChildChange & { readonly spec: ChildSpec }, atMost: number): Promise<boolean>;
  get(childId: string): Promise<ChildRecord | null>;
  spec(childId: string): Promise<ChildSpec | null>;
  byToken(tokenHash: string): Promise<ChildRecord | null>;
  /** Returns children, newest first. */
  list(query: {
    readonly state?: ChildState;
    readonly runId?: string;
    readonly open?: boolean;
    readonly limit: number;
  }): Promise<readonly ChildRecord[]>;
  /**
   * Changes a record by a pure function, which may be called again.
   *
   * @param change - gets the record and the number of active children (starting, running or stopping); `null` changes
   * nothing
   * @returns the updated record; `null` if there is none
   */
  update(
    childId: string,
    change: (record: ChildRecord, active: number, nowMs: number) => ChildChange | null,
  ): Promise<ChildRecord | null>;
  /** Adds output lines, and stores the positions read so far. */
  addOutput(childId: string, lines: readonly ChildLogLine[], positions: LogPositions): Promise<void>;
  positions(childId: string): Promise<LogPositions>;
  /** Removes the record, but not its log. */
  remove(childId: string, events: readonly FleetEvent[]): Promise<boolean>;
  /** Ids of children that ended before a time. */
  endedBefore(ms: number): Promise<readonly string[]>;
  /** Records a server's heartbeat, with its URL. */
  heartbeat(instance: { readonly instanceId: string; readonly pid: number; readonly url: string }): Promise<void>;
  /** Pids of servers with a heartbeat since that time, by server id. */
  aliveSince(ms: number): Promise<ReadonlyMap<string, number>>;
  farewell(instanceId: string): Promise<void>;
}
