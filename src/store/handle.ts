import type { BrowseStore } from '../core/ports/browse.ts';
import type { CompactionStore } from '../core/ports/compactions.ts';
import type { KeyStore } from '../core/ports/keys.ts';
import type { LedgerStore } from '../core/ports/ledger-store.ts';
import type { ProjectSettingsStore } from '../core/ports/project-settings.ts';
import type { ProjectStore } from '../core/ports/projects.ts';
import type { RecallStore } from '../core/ports/recall.ts';
import type { Records } from '../core/ports/records.ts';
import type { SegmentStore } from '../core/ports/segments.ts';
import type { Clock, Store } from '../core/ports.ts';
import type { StoreUnavailable } from '../errors/errors.ts';
import type { Erasure } from './erase/erasure.ts';
import type { PartTables } from './part-tables.ts';
import type { Sql } from './sql/steps.ts';
import type { StoreLog } from './store-log.ts';

/** Options of every store, for either database. */
export interface StoreOptions {
  /** Tables of optional parts. Default: none. */
  readonly parts?: readonly PartTables[];
  readonly clock: Clock;
  /** Lifetime of prunes, decisions and marks after their last use. */
  readonly ttlMs: number;
  /** Lifetime of sent-message records after their last use. Default: 90 days. */
  readonly sentTtlMs?: number;
  /** Limit for the bytes of originals and decisions; the sweep enforces it, see `roomLimit`. */
  readonly maxBytes: number;
  /** Share of `maxBytes` that the originals of one conversation may use. Default: all. */
  readonly conversationShare?: number;
  /** Maximum number of stored events, excluding audit events. */
  readonly maxEvents: number;
  /** Retention of audit events. Default: a year. */
  readonly auditTtlMs?: number;
  /** Retention of ledger rows. Default: 180 days in a database; in a file, the newest 100,000 regardless of age. */
  readonly ledgerTtlMs?: number | null;
  readonly log?: StoreLog;
  /** Creates, migrates and writes nothing, not even last-used times. For inspecting a store from another process. */
  readonly readonly?: boolean;
  /** Hash function of the stored originals, used to verify each read. Reads are not verified if absent. */
  readonly hashOf?: (text: string) => string;
  /** Called with the prunes of a damaged original, which were deleted unless the store is read-only. */
  readonly onDamaged?: (pruneIds: readonly string[]) => void;
  /** Called after each sweep step that deleted something. */
  readonly onSwept?: (did: Swept) => void;
}

/** The effect of a sweep step. */
interface Swept {
  readonly expired: number;
  readonly evicted: number;
  readonly packed: number;
  /** Number of free pages returned to the file system. */
  readonly pages: number;
}

/** `Swept`, and whether there is more to do. */
export interface SweepStep extends Swept {
  readonly more: boolean;
}

/** The limits that a sweep enforces. */
export type SweepLimits = Pick<StoreOptions, 'maxBytes' | 'maxEvents' | 'ttlMs' | 'auditTtlMs' | 'ledgerTtlMs'>;

/** An open store with all its parts. */
export interface StoreHandle extends Store {
  readonly segments: SegmentStore;
  /** Lists, agent logs and stored replies. */
  readonly records: Records;
  /** Costs of requests and effects of pruning. */
  readonly ledger: LedgerStore;
  /** Client compactions, and conversation lengths. */
  readonly compactions: CompactionStore;
  /** Searchable lists of conversations. */
  readonly browse: BrowseStore;
  /** Per-project settings. */
  readonly projectSettings: ProjectSettingsStore;
  /** Search in tool results. */
  readonly recall: RecallStore;
  /** The tables of extensions. */
  readonly sql: Sql;
  /** Project ownership; loaded only if keys are required. */
  projects(): Promise<ProjectStore>;
  /** Access keys and their usage counters; loaded only if needed. */
  keys(): Promise<KeyStore>;
  /** Erasure of projects and persons; loaded only if needed. */
  erasure(): Promise<Erasure>;
  /** Id of the store; two processes with the same id share it. @throws StoreUnavailable */
  id(): Promise<string | null>;
  /** Resolves after the first attempt to open the store; `problem` reports its result. */
  ready(): Promise<void>;
  /** Why the store is currently unusable or unwritable, or `null`. */
  problem(): StoreUnavailable | null;
  /**
   * Waits until an unreachable store is reachable again, at most until `ms` milliseconds after the outage began;
   * returns whether it is reachable. A file store resolves at once.
   */
  untilBack(ms: number): Promise<boolean>;
  /** Start of the current write failure (epoch milliseconds), or `null` while writes work. */
  failingSinceMs(): number | null;
  /** Whether the store is so full that upkeep must not wait for a pause. */
  pressed(): boolean;
  /** Stores a short text under a name. @returns the text stored there before, or `null` */
  replaceNote(name: string, text: string): Promise<string | null>;
  /** Calls the listener when another process records a refused conversation. The returned function unsubscribes. */
  onRefused(listener: () => void): () => void;
  /** Calls the listener within a second after keys may have changed. The returned function unsubscribes. */
  onKeys(listener: () => void): () => void;
}
