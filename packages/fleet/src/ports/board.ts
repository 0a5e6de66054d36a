import type { FleetEvent } from '../ports.ts';

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
  /** JSON text. */
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

/** Called for each change with its version. */
export type BoardEvents = (change: Pick<BoardEvent, 'kind' | 'key' | 'version'>) => readonly FleetEvent[];

/** Key-value store with one version sequence over all changes. Expired entries are never returned. */
export interface BoardStore {
  /** Writes all entries or none; `null` if there is no room. */
  set(writes: readonly BoardWrite[], events: BoardEvents): Promise<readonly BoardEntry[] | null>;
  get(key: string): Promise<BoardEntry | null>;
  delete(key: string, events: BoardEvents): Promise<boolean>;
  /** Entries with a version below `before`, newest first. */
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
    /** Highest deleted version, 0 if none. */
    readonly dropped: number;
  }>;
  /** Removes expired entries and records events for them; returns whether there were any. */
  expire(events: BoardEvents): Promise<boolean>;
  namespaces(query: {
    readonly prefix: string;
    readonly limit: number;
  }): Promise<readonly { readonly namespace: string; readonly entries: number; readonly updatedMs: number }[]>;
  lastVersion(): Promise<number>;
}
