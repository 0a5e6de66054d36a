import type { CompactionStore } from '../core/ports/compactions.ts';
import type { FleetStore } from '../core/ports/fleet.ts';
import type { KeyStore } from '../core/ports/keys.ts';
import type { LedgerStore } from '../core/ports/ledger.ts';
import type { ProjectStore } from '../core/ports/projects.ts';
import type { RecallStore } from '../core/ports/recall.ts';
import type { Records } from '../core/ports/records.ts';
import type { SegmentStore } from '../core/ports/segments.ts';
import type { Clock, Store } from '../core/ports.ts';
import type { StoreUnavailable } from '../errors.ts';
import type { StoreLog } from './store-log.ts';

/** What every store is opened with, whatever it lies on. */
export interface StoreOptions {
  readonly clock: Clock;
  /** How long a prune, a decision or a mark lives after its last use. */
  readonly ttlMs: number;
  /** How long what was sent of a message is known after its last use. Default: 90 days. */
  readonly sentTtlMs?: number;
  /** Limit of what originals and decisions take up; the sweep enforces it, see `roomLimit`. */
  readonly maxBytes: number;
  /** Share of `maxBytes` that the originals of one conversation may take up. Default: all. */
  readonly conversationShare?: number;
  /** How many events are kept, but for those of the audit class. */
  readonly maxEvents: number;
  /** How long events of the audit class are kept. Default: a year. */
  readonly auditTtlMs?: number;
  /** How long the ledger's rows are kept. Default: 180 days in a database; in a file the newest 100,000, whatever their age. */
  readonly ledgerTtlMs?: number | null;
  readonly log?: StoreLog;
  /** Nothing is created, migrated or written, not even a use noted: to look into a store from outside. */
  readonly readonly?: boolean;
  /** The hash by which an original is stored. Each one is checked when it is read; absent: they are not checked. */
  readonly hashOf?: (text: string) => string;
  /** Called with the prunes whose original turned out to be damaged. They were deleted, unless the store is read-only. */
  readonly onDamaged?: (pruneIds: readonly string[]) => void;
  /** Told of each step of a sweep that deleted something. */
  readonly onSwept?: (did: Swept) => void;
}

/** What a step of a sweep did. */
export interface Swept {
  readonly expired: number;
  readonly evicted: number;
  readonly packed: number;
  /** Free pages given back to the file system. */
  readonly pages: number;
}

/** As `Swept`, with whether the next step has something to do as well. */
export interface SweepStep extends Swept {
  readonly more: boolean;
}

/** What a sweep keeps a store within. */
export type SweepLimits = Pick<StoreOptions, 'maxBytes' | 'maxEvents' | 'ttlMs' | 'auditTtlMs' | 'ledgerTtlMs'>;

/** An open store with all that lies on it. */
export interface StoreHandle extends Store {
  readonly segments: SegmentStore;
  /** Lists, logs of agents and kept answers. */
  readonly records: Records;
  /** What requests cost and what pruning changed. */
  readonly ledger: LedgerStore;
  /** Where clients compacted their histories, and how long conversations were. */
  readonly compactions: CompactionStore;
  /** What tool results hold, by word. */
  readonly recall: RecallStore;
  /** What the fleet keeps. */
  fleet(): Promise<FleetStore>;
  /** What belongs to which project; loaded only where keys are asked for. */
  projects(): Promise<ProjectStore>;
  /** Keys, and what is counted of them; loaded only where they are asked for. */
  keys(): Promise<KeyStore>;
  /** Id of the store, by which two processes compare whether they use the same one. @throws StoreUnavailable */
  id(): Promise<string | null>;
  /** Resolves when it is known whether the store can be used; `problem` says what came of it. */
  ready(): Promise<void>;
  /** Why the store cannot be used or written now, or `null`. */
  problem(): StoreUnavailable | null;
  /**
   * Resolves when a store that is away can be asked again, at the latest when it was away for `ms` milliseconds; says whether
   * it can. A file is there or not: nobody waits for it.
   */
  untilBack(ms: number): Promise<boolean>;
  /** Since when writes fail (epoch milliseconds), or `null` while they work. */
  failingSinceMs(): number | null;
  /** Whether so much was stored that upkeep must not wait for a pause. */
  pressed(): boolean;
  /** Keeps a short text under a name. @returns the text that was kept under it before, or `null` */
  exchange(name: string, text: string): Promise<string | null>;
  /** Calls back when another process noted a refused conversation, until the returned function is called. */
  onRefused(listener: () => void): () => void;
  /** Calls back when another process changed keys and the store was told, until the returned function is called. */
  onKeys(listener: () => void): () => void;
}
