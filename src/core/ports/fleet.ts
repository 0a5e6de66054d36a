import type { EventRecord } from '../ports.ts';

/** An event of the fleet; the store says when it happened. */
export type FleetEvent = Omit<EventRecord, 'tsMs'>;

/** The committed version of a graph. */
export interface GraphHead {
  readonly graphId: string;
  readonly version: number;
  readonly committedMs: number;
}

/** One version of a graph, as text that only the fleet reads. */
export interface GraphVersion {
  readonly text: string;
  readonly committedMs: number;
}

export type SnapshotState = 'pending' | 'committed' | 'rolled_back' | 'expired';

/** A commit, or a transaction that may become one. Graphs are named by version, not copied. */
export interface GraphSnapshot {
  readonly graphId: string;
  readonly txId: string;
  readonly baseVersion: number;
  readonly startedMs: number;
  readonly state: SnapshotState;
  /** When it was committed, rolled back or expired. */
  readonly endedMs: number | null;
  readonly finalVersion: number | null;
  readonly owner: string | null;
  readonly note: string | null;
  readonly expiresMs: number | null;
}

/** A transaction that is open, with its working copy. */
export interface OpenTransaction extends GraphSnapshot {
  /** Counts changes of the working copy. */
  readonly revision: number;
  /** `null` while it is the base version itself. */
  readonly text: string | null;
}

export interface GraphLock {
  readonly lockId: string;
  readonly graphId: string;
  readonly holder: string;
  readonly acquiredMs: number;
  readonly refreshedMs: number;
  readonly expiresMs: number | null;
}

export interface GraphCommit {
  readonly graphId: string;
  /** The version that was read; 0: there is none yet. */
  readonly baseVersion: number;
  /** The new version; `null` when the graph stays as it is. */
  readonly text: string | null;
  /** Who commits, for the lock. */
  readonly owner: string | null;
  readonly note: string | null;
  /** Of the snapshot; that of an open transaction ends it. */
  readonly txId: string;
  /** Whether `txId` is an open transaction. */
  readonly isTransaction: boolean;
  /** Told with the version that the graph has afterwards. */
  readonly events: (version: number) => readonly FleetEvent[];
}

/** What became of a commit. */
export type CommitOutcome =
  | { readonly kind: 'committed'; readonly version: number; readonly committedMs: number }
  | { readonly kind: 'conflict'; readonly found: number }
  | { readonly kind: 'locked'; readonly lock: GraphLock }
  | { readonly kind: 'gone' }
  | { readonly kind: 'full' };

/** Versioned graphs, their locks and transactions. */
export interface GraphStore {
  head(graphId: string): Promise<GraphHead | null>;
  version(graphId: string, version: number): Promise<GraphVersion | null>;
  /** Graphs whose id begins with a prefix, the one committed last first. */
  heads(query: { readonly prefix: string; readonly limit: number }): Promise<readonly GraphHead[]>;
  /** Checks base version and lock and writes version, snapshot and events, all or nothing. */
  commit(commit: GraphCommit): Promise<CommitOutcome>;

  /** The lock that stands now. */
  activeLock(graphId: string): Promise<GraphLock | null>;
  /** Takes or renews the lock; the lock of another holder comes back as it is. */
  lock(
    asked: { readonly graphId: string; readonly holder: string; readonly ttlMs: number | null; readonly newId: string },
    events: (lock: GraphLock) => readonly FleetEvent[],
  ): Promise<GraphLock>;
  /** Frees a lock; `null` when there is none of this id. */
  unlock(
    lockId: string,
    events: (lock: GraphLock, expired: boolean) => readonly FleetEvent[],
  ): Promise<{ readonly lock: GraphLock; readonly expired: boolean; readonly releasedMs: number } | null>;

  /** Opens a transaction on the committed version. */
  begin(
    asked: {
      readonly graphId: string;
      readonly txId: string;
      readonly baseVersion: number;
      readonly owner: string | null;
      readonly note: string | null;
      readonly ttlMs: number | null;
      readonly text: string | null;
    },
    events: readonly FleetEvent[],
  ): Promise<
    | { readonly kind: 'begun'; readonly snapshot: GraphSnapshot }
    | { readonly kind: 'locked'; readonly lock: GraphLock }
    | { readonly kind: 'conflict'; readonly found: number }
    | { readonly kind: 'full' }
  >;
  /** An open transaction; one whose time is over becomes `expired` and is told once. */
  transaction(
    txId: string,
    expired: (snapshot: GraphSnapshot) => readonly FleetEvent[],
  ): Promise<OpenTransaction | 'expired' | null>;
  /** Replaces the working copy; `false` when another call was faster or the transaction has ended. */
  stage(
    txId: string,
    revision: number,
    text: string,
    owner: string | null,
  ): Promise<'staged' | 'stale' | { readonly lock: GraphLock }>;
  rollback(txId: string, events: readonly FleetEvent[]): Promise<GraphSnapshot | null>;
  snapshot(graphId: string, txId: string): Promise<GraphSnapshot | null>;
  snapshots(query: { readonly prefix: string; readonly limit: number }): Promise<readonly GraphSnapshot[]>;
  /** Lets go of what is over: locks after a day, snapshots beyond their number and age. */
  sweep(expired: (snapshot: GraphSnapshot) => readonly FleetEvent[]): Promise<void>;
}

export interface BoardEntry {
  readonly key: string;
  readonly value: unknown;
  readonly tags: readonly string[];
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly expiresMs: number | null;
  readonly version: number;
}

export interface BoardWrite {
  readonly key: string;
  readonly namespace: string;
  /** JSON. */
  readonly value: string;
  readonly tags: readonly string[];
  readonly ttlMs: number | null;
}

export interface BoardEvent {
  readonly version: number;
  readonly kind: 'set' | 'delete' | 'expire';
  readonly key: string;
  readonly tsMs: number;
  readonly reason: 'ttl' | null;
  readonly entry: BoardEntry | null;
  readonly previous: BoardEntry | null;
}

/** Told of each change with its version. */
export type BoardEvents = (change: Pick<BoardEvent, 'kind' | 'key' | 'version'>) => readonly FleetEvent[];

/** Key → value, with one sequence of versions over all changes. Expired entries are never served. */
export interface BoardStore {
  /** All or nothing; `null` when there is no room. */
  set(writes: readonly BoardWrite[], events: BoardEvents): Promise<readonly BoardEntry[] | null>;
  get(key: string): Promise<BoardEntry | null>;
  delete(key: string, events: BoardEvents): Promise<boolean>;
  /** Newest version first, those below `before`. */
  query(query: {
    readonly keys?: readonly string[];
    readonly tags: readonly string[];
    readonly namespace: string | null;
    readonly before: number | null;
    readonly limit: number;
  }): Promise<readonly BoardEntry[]>;
  /** Changes with a version above `after`, ascending. */
  changes(query: { readonly after: number; readonly namespace: string | null; readonly limit: number }): Promise<{
    readonly events: readonly BoardEvent[];
    /** The highest version that is no longer kept, 0 for none. */
    readonly dropped: number;
  }>;
  /** Tells what has expired; returns whether there was anything. */
  expire(events: BoardEvents): Promise<boolean>;
  namespaces(query: {
    readonly prefix: string;
    readonly limit: number;
  }): Promise<readonly { readonly namespace: string; readonly entries: number; readonly updatedMs: number }[]>;
  lastVersion(): Promise<number>;
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

/** One field of pheromones. */
export interface FieldStore {
  /** Adds to what is there, all or nothing; `null` when there is no room. */
  mark(
    marks: readonly { readonly nodeId: string; readonly type: string; readonly intensity: number }[],
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[] | null>;
  /** Replaces every point by what `change` makes of it; intensity 0 removes it. Pure: it may be called again. */
  update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]>;
  points(): Promise<{ readonly points: readonly StoredPoint[]; readonly atMs: number }>;
}

export type ChildState = 'created' | 'starting' | 'running' | 'stopping' | 'terminated' | 'error' | 'killed' | 'lost';

/** Correlation of what a call made. */
export interface Correlation {
  readonly runId: string | null;
  readonly opId: string | null;
  readonly jobId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string | null;
}

export interface ChildUsage {
  /** Model requests. */
  readonly messages: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costUsd: number | null;
  /** Of the starts before the present one. */
  readonly wallclockMs: number;
}

/** What a child is and how it stands. Holds no prompt, no value of its environment and no token. */
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
  /** When the process began, as the system counts; tells it from a later one of the same number. */
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
  /** Limits that were told to be reached. */
  readonly limitsTold: readonly string[];
}

/** How to start a child. For the store's file only. */
export type ChildSpec = Readonly<Record<string, unknown>>;

export interface ChildLogLine {
  readonly stream: 'stdout' | 'stderr' | 'meta';
  readonly message: string;
  readonly parsed: unknown;
}

/** How far the two files of a child's output were read, in bytes. */
export interface LogPositions {
  readonly stdout: number;
  readonly stderr: number;
}

/** What a change of a child writes beside the record itself. */
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
  /** Writes a run that begins, in the place of an ended one of the same id; `false` while that one is under way. */
  begin(record: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null>;
  /** Beyond `atMost` the oldest that have ended go. */
  save(record: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void>;
  get(runId: string): Promise<PlanRecord | null>;
  /** Runs that are not ended, of one operation if that is named. */
  open(opId?: string): Promise<readonly PlanRecord[]>;
  /** The newest run of an operation. */
  byOperation(opId: string): Promise<PlanRecord | null>;
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
  /** Decides by the awards that are open: agent → how many. The function is pure and may be called again. */
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

/** All that the fleet keeps. Every method is one transaction with its events, and may reject with `StoreUnavailable`. */
export interface FleetStore {
  readonly graphs: GraphStore;
  readonly board: BoardStore;
  readonly field: FieldStore;
  readonly children: ChildStore;
  readonly plans: PlanStore;
  readonly contracts: ContractStore;
  /** Events that belong to no change of the above. */
  tell(events: readonly FleetEvent[]): Promise<void>;
}
