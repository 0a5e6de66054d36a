import type { Correlation, FleetEvent } from './events.ts';

export type ChildState = 'created' | 'starting' | 'running' | 'stopping' | 'terminated' | 'error' | 'killed' | 'lost';

export interface ChildUsage {
  /** Model requests. */
  readonly messages: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costUsd: number | null;
  /** Wall-clock time of earlier starts, in milliseconds. */
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
  /** Hints of the call that made it, or of a later one; `childId` is who asked for it. */
  readonly correlation: Correlation;
  readonly workdir: string | null;
  readonly manifestPath: string | null;
  /** SHA-256 of the token of the present start. */
  readonly tokenHash: string | null;
  /** The server that started it. */
  readonly instanceId: string;
  readonly pid: number | null;
  /** When the process began, as the system counts; it distinguishes it from a later one of the same number. */
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

/** How to start a child. For the store's file only. */
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
  /** Replaces how it is started. */
  readonly spec?: ChildSpec;
}

export interface ChildStore {
  /** `false` when there is one of this id. Beyond `atMost` records the oldest that have ended go. */
  insert(change: ChildChange & { readonly spec: ChildSpec }, atMost: number): Promise<boolean>;
  get(childId: string): Promise<ChildRecord | null>;
  spec(childId: string): Promise<ChildSpec | null>;
  byToken(tokenHash: string): Promise<ChildRecord | null>;
  /** The newest first. */
  list(query: {
    readonly state?: ChildState;
    readonly runId?: string;
    readonly open?: boolean;
    readonly limit: number;
  }): Promise<readonly ChildRecord[]>;
  /**
   * Changes a record by a pure function, which may be called again.
   *
   * @param change - gets the record and how many children are starting or running; `null` leaves it
   * @returns the record as it is afterwards; `null` when there is none
   */
  update(
    childId: string,
    change: (record: ChildRecord, active: number, nowMs: number) => ChildChange | null,
  ): Promise<ChildRecord | null>;
  /** Adds lines of output together with how far they were read. */
  addOutput(childId: string, lines: readonly ChildLogLine[], positions: LogPositions): Promise<void>;
  positions(childId: string): Promise<LogPositions>;
  /** Removes the record; its log stays. */
  remove(childId: string, events: readonly FleetEvent[]): Promise<boolean>;
  /** Ids of those that ended before a time. */
  endedBefore(ms: number): Promise<readonly string[]>;
  /** Says that a server lives, and where. */
  heartbeat(instance: { readonly instanceId: string; readonly pid: number; readonly url: string }): Promise<void>;
  /** Servers that were heard of since, with the number of their process. */
  aliveSince(ms: number): Promise<ReadonlyMap<string, number>>;
  farewell(instanceId: string): Promise<void>;
}
