import type { Cut, Dial, Hints, Limits, PlanWarning, SourceType } from '../engine/types.ts';
import type { BoldnessFact } from './ports/boldness.ts';
import type { SentMessage } from './ports/sent.ts';

/** Current time in epoch milliseconds; injected so that tests can control it. */
export interface Clock {
  nowMs(): number;
}

/** One text that a backend scores. */
export interface ScoreRequest {
  readonly text: string;
  /** Hash of the text, 32 hex digits. */
  readonly textHash: string;
  readonly goal: string;
  readonly sourceType: SourceType;
  /**
   * The lines most worth scoring, as indexes from 0, ascending, at most `limit`. Calling it costs a ranking of the
   * text.
   */
  readonly sample: (limit: number) => readonly number[];
  /** Maximum time that the caller waits, in milliseconds. */
  readonly timeoutMs: number;
  /** Fires when the caller no longer needs the answer. */
  readonly signal?: AbortSignal;
}

/** A backend's scores of the lines of a text. */
export interface Scored {
  /** As `PruneInput.externalScores`; `null` if the backend returned none, so that the engine ranks alone. */
  readonly scores: Float64Array | null;
  /** Codes for the caller, the more general first (`cache_hit`; `deepinfra_error`, `deepinfra_http_error`). */
  readonly warnings: readonly string[];
  /** What the backend did, in wire spelling (`backend`, `deepinfra_latency_ms`, …). */
  readonly stats: Readonly<Record<string, string | number | boolean>>;
}

/** A backend that scores lines for a goal. Without one, the engine's own ranking is used. */
export interface LineScorer {
  /** As in the settings. Part of the key of each decision that it may influence. */
  readonly name: string;
  /** Never rejects, and settles within the request's time. */
  score(request: ScoreRequest): Promise<Scored>;
}

/** A decision about one text, made once and replayed until it expires. */
export interface Decision {
  /** 32 hex digits: a hash of the fields in `JOB_PARTS` and of the backend's name. It contains no program version. */
  readonly key: string;
  /** `prn_` + 12 base-32 characters, or `null` if the text is left whole. */
  readonly pruneId: string | null;
  /** Hash of the original text, 32 hex digits; the snapshot's key. */
  readonly textHash: string;
  readonly cuts: readonly Cut[];
  readonly sourceType: SourceType;
  readonly kind: string;
  /** Why the text was left whole (`too_little_saved`, `reread`, …); empty for a cut. */
  readonly whole: string;
  readonly warnings: readonly PlanWarning[];
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly goal: string;
  /** Name of the tool whose result it is, or `''`. */
  readonly tool: string;
  /** The level of boldness learned for its tool and kind; absent if none was learned. */
  readonly boldness?: BoldnessFact;
  /** What else the decision depended on, to explain it; absent if nothing was ranked or an older program stored it. */
  readonly basis?: DecisionBasis | undefined;
}

/** The inputs of a decision other than the text, the goal and the program. */
export interface DecisionBasis {
  readonly hints: Hints;
  readonly limits: Limits;
  /** `prune_text` was called for this very text. */
  readonly asked?: true;
  /** The text was so short that only some kinds of text are cut. */
  readonly small?: true;
  /** How boldly it was cut; absent: careful. */
  readonly dial?: Dial | undefined;
  /** The type that the caller named; absent: the engine recognised it. */
  readonly sourceType?: SourceType;
  /** A backend's scores influenced the decision; they are not stored. */
  readonly opinions?: true;
}

/** An original together with the decision that refers to it. */
export interface NewDecision {
  readonly decision: Decision;
  /** The original; stored if the decision has a `pruneId`. */
  readonly text: string;
  /** Its compressed form, if the caller has made it. A store may ignore it. */
  readonly packed?: PackedText | undefined;
}

/** A text in the form in which a store keeps it. */
export interface PackedText {
  /** 0 UTF-8, 1 UTF-16LE. */
  readonly encoding: 0 | 1;
  /** The compression, as the store names it. */
  readonly packing: number;
  /** Size without compression. */
  readonly text_bytes: number;
  readonly data: Uint8Array;
}

/** Everything that one request (or one `prune_text` call) must persist before any of its output leaves the process. */
export interface StoreBatch {
  readonly decisions: readonly NewDecision[];
  /** Prune ids that occurred again; their expiry is extended. */
  readonly touch: readonly string[];
  /**
   * Records of what is about to be sent. They are written only if all decisions are stored as given: if a decision is
   * refused or already exists, the caller must commit corrected records. Existing records are never overwritten.
   */
  readonly sent?: readonly SentMessage[];
  /** If a decision is refused, none is written. */
  readonly wholeOrNothing?: true;
  /** The conversation whose share of the store the originals count against; absent: no share. */
  readonly conversation?: string;
  /** The project that owns them from now on, in addition to other owners. Absent: no owner is added. */
  readonly owner?: string;
}

/** The decision behind a prune id. */
export interface StoredPrune {
  readonly decision: Decision;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** Something that happened; never contains a text or a credential. Fields are those of `events_watch`. */
export interface EventRecord {
  readonly tsMs: number;
  readonly kind: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** The conversation. */
  readonly runId: string;
  /** The request (its ulid) or `null`. */
  readonly opId: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The job, graph, node and child that it belongs to, as far as they are known. */
  readonly jobId?: string | null;
  readonly graphId?: string | null;
  readonly nodeId?: string | null;
  readonly childId?: string | null;
  /** The project that it belongs to; only keys of this project show it. */
  readonly project?: string | undefined;
  /** Of the audit class: kept by age, and not pushed out by other events. */
  readonly audit?: true;
}

/** Accepts events. Never throws or blocks. */
export interface EventSink {
  add(events: readonly EventRecord[]): void;
}

export interface StoredEvent extends EventRecord {
  /** Ascending, without reuse. */
  readonly seq: number;
}

/** The outcome of a commit. */
export interface Committed {
  /** Ids of `touch` that are unknown or expired. */
  readonly missing: readonly string[];
  /**
   * Keys of the decisions that were refused: their prune id belongs to another text, or the conversation has used its
   * share.
   */
  readonly refused: readonly string[];
  /** Keys under which a decision may exist already; that one is used. */
  readonly known: readonly string[];
  /** Prefixes of `sent` under which a different record exists already; that one is used. */
  readonly sentBefore?: readonly string[];
}

/**
 * The store of originals, decisions and events. Every method may reject with `StoreUnavailable`; callers on the request
 * path then fail open. Asynchronous, so that a shared database server can implement it.
 */
export interface Store {
  /**
   * Changes whenever stored prunes may have been deleted by something else (file replaced, sweep, another process). A
   * cached "this id is stored" is valid only within the same epoch. Cheap: called once per request.
   *
   * @throws StoreUnavailable
   */
  epoch(): string;
  /** Decisions by key; unknown and expired keys are absent from the map. */
  findDecisions(keys: readonly string[]): Promise<Map<string, Decision>>;
  /**
   * Writes a batch in one durable transaction, waiting at most `waitMs` for another writer.
   *
   * Never changes existing rows.
   */
  commit(batch: StoreBatch, waitMs: number): Promise<Committed>;
  /**
   * Records of sent messages, by prefix; reading extends their expiry. Unknown prefixes are absent from the map.
   *
   * @param prefetchKeys - keys of the next `findDecisions` call: a remote store fetches both in one round trip, a local
   * store ignores it
   */
  findSent(prefixes: readonly string[], prefetchKeys?: () => readonly string[]): Promise<Map<string, SentMessage>>;
  /** The prune behind an id that has not expired, or `null`. */
  findPrune(pruneId: string): Promise<StoredPrune | null>;
  /** The original text behind an id that has not expired; byte for byte (UTF-16 unit for unit), or `null`. */
  findOriginal(pruneId: string): Promise<string | null>;
  /** Returns the ids that the store knows and that have not expired. */
  knownPruneIds(pruneIds: readonly string[]): Promise<Set<string>>;

  /** Remembers hashes of what `recover_text` served, so that it is not pruned on its way back; expires like prunes. */
  markServed(textHashes: readonly string[]): Promise<void>;
  wasServed(textHashes: readonly string[]): Promise<Set<string>>;
  /** Records conversations (by prefix hash) that the proxy no longer prunes. */
  markRefused(prefixHash: string): Promise<void>;
  /** The prefix hashes recorded by `markRefused` that have not expired, newest first, at most 10,000. */
  refusedConversations(): Promise<readonly string[]>;

  addEvents(events: readonly EventRecord[]): Promise<void>;
  /** Events with `seq >= fromSeq`, ascending, at most `limit`; of one run if `runId` is given. */
  events(query: {
    readonly runId?: string;
    readonly fromSeq: number;
    readonly limit: number;
  }): Promise<readonly StoredEvent[]>;

  /** Numbers for `/metrics` and `/health`. */
  stats(): Promise<{ readonly prunes: number; readonly snapshots: number; readonly bytes: number }>;
  /**
   * Expires, limits and compresses a small part of the store; returns whether there is more to do. Off the request
   * path.
   */
  sweep(): Promise<boolean>;
  close(): Promise<void>;
}
