import type { FleetEvent } from '../ports.ts';

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
  readonly isTransaction: boolean;
  /** Events to record, given the graph's resulting version. */
  readonly events: (version: number) => readonly FleetEvent[];
}

export type CommitOutcome =
  | { readonly kind: 'committed'; readonly version: number; readonly committedMs: number }
  | { readonly kind: 'conflict'; readonly found: number }
  | { readonly kind: 'locked'; readonly lock: GraphLock }
  | { readonly kind: 'gone' }
  | { readonly kind: 'full' };

export interface TransactionRequest {
  readonly graphId: string;
  readonly txId: string;
  readonly baseVersion: number;
  readonly owner: string | null;
  readonly note: string | null;
  readonly ttlMs: number | null;
  /** The working copy; `null` while it equals the base version. */
  readonly text: string | null;
}
