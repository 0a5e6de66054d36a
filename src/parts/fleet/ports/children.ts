import type { Correlation, FleetEvent } from '../ports.ts';

export type ChildState = 'created' | 'starting' | 'running' | 'stopping' | 'terminated' | 'error' | 'killed' | 'lost';

export interface ChildUsage {
  /** Model requests. */
  readonly messages: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costUsd: number | null;
  /** Always 0: answers compute the time from `startedMs`. */
  readonly wallclockMs: number;
}

/** A child and its state. Contains no prompt, no value of its environment and no token. */
export interface ChildRecord {
  readonly childId: string;
  readonly state: ChildState;
  readonly agent: string | null;
  readonly command: string | null;
  readonly role: string | null;
  readonly limits: Readonly<Record<string, number>>;
  readonly limitsUnenforced: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Hints of the call that created it, or of a later one; `childId` is the child that requested it. */
  readonly correlation: Correlation;
  readonly workdir: string | null;
  readonly manifestPath: string | null;
  /** SHA-256 of the token of the present start. */
  readonly tokenHash: string | null;
  /** The server that started or adopted it. */
  readonly instanceId: string;
  readonly pid: number | null;
  /** Start time of the process in the system's units; distinguishes it from a later process with the same pid. */
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
  /** Limits that were reported as reached. */
  readonly limitsTold: readonly string[];
}

/** How to start a child. Stored in either database and never shown. */
export type ChildSpec = Readonly<Record<string, unknown>>;

export interface ChildLogLine {
  readonly stream: 'stdout' | 'stderr' | 'meta';
  readonly message: string;
  readonly parsed: unknown;
}

/** The number of bytes read from the two files of a child's output. */
export interface LogPositions {
  readonly stdout: number;
  readonly stderr: number;
}

/** Data that a change of a child writes in addition to its record. */
export interface ChildChange {
  readonly record: ChildRecord;
  readonly events?: readonly FleetEvent[];
  readonly logs?: readonly ChildLogLine[];
  /** Replaces the start parameters. */
  readonly spec?: ChildSpec;
}

export interface ChildStore {
  /** `false` if there is already a child with this id. Deletes the oldest ended records beyond `atMost`. */
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
   * @returns the record as it is afterwards; `null` when there is none
   */
  update(
    childId: string,
    change: (record: ChildRecord, active: number, nowMs: number) => ChildChange | null,
  ): Promise<ChildRecord | null>;
  /** Adds lines of output, and the positions up to which the output was read. */
  addOutput(childId: string, lines: readonly ChildLogLine[], positions: LogPositions): Promise<void>;
  positions(childId: string): Promise<LogPositions>;
  /** Removes the record; its log stays. */
  remove(childId: string, events: readonly FleetEvent[]): Promise<boolean>;
  /** Ids of those that ended before a time. */
  endedBefore(ms: number): Promise<readonly string[]>;
  /** Records that a server is alive, with its address. */
  heartbeat(instance: { readonly instanceId: string; readonly pid: number; readonly url: string }): Promise<void>;
  /** Servers with a heartbeat since that time, with their pids. */
  aliveSince(ms: number): Promise<ReadonlyMap<string, number>>;
  farewell(instanceId: string): Promise<void>;
}
