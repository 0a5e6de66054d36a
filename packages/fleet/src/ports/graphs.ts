import type { FleetEvent } from '../ports.ts';

/** The committed version of a graph. */
export interface GraphHead {
  readonly graphId: string;
  readonly version: number;
  readonly committedMs: number;
}

/** One version of a graph, as text that is opaque to the store. */
export interface GraphVersion {
  readonly text: string;
  readonly committedMs: number;
}

export type SnapshotState = 'pending' | 'committed' | 'rolled_back' | 'expired';

/** A commit, or a transaction that may become one. Refers to graph versions instead of copying them. */
export interface GraphSnapshot {
  readonly graphId: string;
  readonly txId: string;
  readonly baseVersion: number;
  readonly startedMs: number;
  readonly state: SnapshotState;
  /** Time of commit, rollback or expiry. */
  readonly endedMs: number | null;
  readonly finalVersion: number | null;
  readonly owner: string | null;
  readonly note: string | null;
  readonly expiresMs: number | null;
}

/** An open transaction with its working copy. */
export interface OpenTransaction extends GraphSnapshot {
  /** Counts changes of the working copy. */
  readonly revision: number;
  /** `null` while the working copy equals the base version. */
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
  /** Version that was read; 0 if there is none yet. */
  readonly baseVersion: number;
  /** Text of the new version; `null` if the graph is unchanged. */
  readonly text: string | null;
  /** Name of the committer, compared with the lock's holder. */
  readonly owner: string | null;
  readonly note: string | null;
  /** Id of the snapshot. If it equals an open transaction's id, the commit ends that transaction. */
  readonly txId: string;
  /** Whether `txId` is an open transaction. */
  readonly isTransaction: boolean;
  /** Events to record, given the graph's resulting version. */
  readonly events: (version: number) => readonly FleetEvent[];
}

/** The outcome of a commit. */
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
  /** Graphs whose id begins with a prefix, most recently committed first. */
  heads(query: { readonly prefix: string; readonly limit: number }): Promise<readonly GraphHead[]>;
  /** Stored versions of graphs whose id begins with a prefix, most recently committed first. */
  versions(query: { readonly prefix: string; readonly limit: number }): Promise<readonly GraphHead[]>;
  /** Checks base version and lock, then writes version, snapshot and events atomically. */
  commit(commit: GraphCommit): Promise<CommitOutcome>;

  /** The current lock. */
  activeLock(graphId: string): Promise<GraphLock | null>;
  /** Takes or renews the lock; another holder's lock is returned unchanged. */
  lock(
    request: {
      readonly graphId: string;
      readonly holder: string;
      readonly ttlMs: number | null;
      readonly newId: string;
    },
    events: (lock: GraphLock) => readonly FleetEvent[],
  ): Promise<GraphLock>;
  /** Releases a lock; `null` if there is none with this id. */
  unlock(
    lockId: string,
    events: (lock: GraphLock, expired: boolean) => readonly FleetEvent[],
  ): Promise<{ readonly lock: GraphLock; readonly expired: boolean; readonly releasedMs: number } | null>;

  /** Opens a transaction on the committed version. */
  begin(
    request: {
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
  /** An open transaction; an overdue one becomes `expired` and is reported once. */
  transaction(
    txId: string,
    expired: (snapshot: GraphSnapshot) => readonly FleetEvent[],
  ): Promise<OpenTransaction | 'expired' | null>;
  /**
   * Replaces the working copy. Returns `stale` after a concurrent change or the transaction's end, or the lock if
   * another holder has it.
   */
  stage(
    txId: string,
    revision: number,
    text: string,
    owner: string | null,
  ): Promise<'staged' | 'stale' | { readonly lock: GraphLock }>;
  rollback(txId: string, events: readonly FleetEvent[]): Promise<GraphSnapshot | null>;
  snapshot(graphId: string, txId: string): Promise<GraphSnapshot | null>;
  snapshots(query: { readonly prefix: string; readonly limit: number }): Promise<readonly GraphSnapshot[]>;
  /**
   * Ends overdue transactions, and deletes locks a day after their expiry and ended snapshots beyond their maximum age.
   */
  sweep(expired: (snapshot: GraphSnapshot) => readonly FleetEvent[]): Promise<void>;
}
