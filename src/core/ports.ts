import type { RenderOptions } from '../engine/text/render.ts';
import type { Cut, Hints, Limits, PlanWarning, SourceType } from '../engine/types.ts';

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
  /** Indexes of the lines most worth scoring, 0-based, ascending, at most `limit`. Each call ranks the text. */
  readonly sample: (limit: number) => readonly number[];
  /** Maximum time that the caller waits, in milliseconds. */
  readonly timeoutMs: number;
  /** Aborted when the caller no longer needs the answer. */
  readonly signal?: AbortSignal;
}

/** A backend's scores of the lines of a text. */
export interface Scored {
  /** Format of `PruneInput.externalScores`; `null` if the backend returned none, so that the engine ranks alone. */
  readonly scores: Float64Array | null;
  /** Codes for the caller, most general first (`cache_hit`; `deepinfra_error`, `deepinfra_http_error`). */
  readonly warnings: readonly string[];
  /** What the backend did, in wire spelling (`backend`, `deepinfra_latency_ms`, …). */
  readonly stats: Readonly<Record<string, string | number | boolean>>;
}

/** A backend that scores lines for a goal. Without one, the engine's own ranking is used. */
export interface LineScorer {
  /** Name in the settings. Part of the key of each decision that the backend may influence. */
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
  /** Name of the tool that returned the text, or `''`. */
  readonly tool: string;
  /** Hashes of earlier texts that show the cut lines; the cuts apply only while these are sent whole. */
  readonly copies?: readonly string[];
  /** A line of our own in front of the text as it was sent. */
  readonly notice?: string;
  /** Other inputs of the decision, for explaining it; absent if nothing was ranked or an older version stored it. */
  readonly basis?: DecisionBasis | undefined;
}

/** The inputs of a decision other than the text, the goal and the program. */
export interface DecisionBasis {
  readonly hints: Hints;
  readonly limits: Limits;
  /** The text was passed to `prune_text`. */
  readonly asked?: true;
  /** The text was so short that only repetitive kinds are cut. */
  readonly small?: true;
  /** The type that the caller declared. If absent, the engine detected it. */
  readonly sourceType?: SourceType;
  /** A backend's scores influenced the decision; the scores are not stored. */
  readonly opinions?: true;
}

/** A decision together with its original text. */
export interface NewDecision {
  readonly decision: Decision;
  /** The original; stored if the decision has a `pruneId`. */
  readonly text: string;
  /** Only the text is needed. A store may leave out what finds the decision by its key. */
  readonly textOnly?: true;
  /** Compressed form of the text, if available. A store may ignore it. */
  readonly packed?: PackedText | undefined;
}

/** A text in stored form. */
export interface PackedText {
  /** 0 UTF-8, 1 UTF-16LE. */
  readonly encoding: 0 | 1;
  /** The compression, as the store names it. */
  readonly packing: number;
  /** Uncompressed size. */
  readonly text_bytes: number;
  readonly data: Uint8Array;
}

/** Everything that one request (or one `prune_text` call) must persist before any of its output leaves the process. */
export interface StoreBatch {
  readonly decisions: readonly NewDecision[];
  /** Prune ids seen again; their expiry is extended. */
  readonly touch: readonly string[];
  /**
   * Records of what is about to be sent. Written only if all decisions are stored as given; if one is refused or
   * already exists, the caller must commit corrected records. Existing records are never overwritten.
   */
  readonly sent?: readonly SentMessage[];
  /** All or nothing: if one decision is refused, none is written. */
  readonly wholeOrNothing?: true;
  /** The conversation whose quota the originals count against. No quota if absent. */
  readonly conversation?: string;
  /** A project to add as owner of the originals. */
  readonly owner?: string;
}

/** The decision behind a prune id. */
export interface StoredPrune {
  readonly decision: Decision;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** One event, with the fields of `events_watch`. Never contains a text or a credential. */
export interface EventRecord {
  readonly tsMs: number;
  readonly kind: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** The conversation. */
  readonly runId: string;
  /** The request (its ulid) or `null`. */
  readonly opId: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Job, graph, node and child that the event belongs to, if known. */
  readonly jobId?: string | null;
  readonly graphId?: string | null;
  readonly nodeId?: string | null;
  readonly childId?: string | null;
  /** The event's project; only keys of this project can see it. */
  readonly project?: string | undefined;
  /** Audit event: expires by age only, and is not displaced by newer events. */
  readonly audit?: true;
}

/** Accepts events. Never throws or blocks. */
export interface EventSink {
  add(events: readonly EventRecord[]): void;
}

export interface StoredEvent extends EventRecord {
  /** Ascending, never reused. */
  readonly seq: number;
}

/** What to look up of a request. */
export interface LookUp {
  /** Prefixes of messages that may have been sent before. */
  readonly prefixes?: readonly string[];
  /** Keys of decisions. */
  readonly keys?: readonly string[];
  /** Hashes of texts that may have been served by a recovery. */
  readonly hashes?: readonly string[];
}

/** What a store has of it; anything else is absent. */
export interface LookedUp {
  readonly sent: Map<string, SentMessage>;
  readonly decisions: Map<string, Decision>;
  readonly served: Set<string>;
}

/** The outcome of a commit. */
export interface Committed {
  /** Ids of `touch` that are unknown or expired. */
  readonly missing: readonly string[];
  /** Keys of refused decisions: their prune id belongs to another text, or the conversation's quota is used up. */
  readonly refused: readonly string[];
  /** Keys under which a decision may already exist; the existing one applies. */
  readonly known: readonly string[];
  /** The existing decisions, if the store has read them. */
  readonly decisions?: ReadonlyMap<string, Decision> | undefined;
  /** Prefixes in `sent` under which a different record may already exist; the existing one applies. */
  readonly sentBefore?: readonly string[];
}

/**
 * The store of originals, decisions and events. Every method may reject with `StoreUnavailable`; callers on the request
 * path then fail open. Asynchronous, so that a shared database server can implement it.
 */
export interface Store {
  /**
   * Changes whenever stored prunes may have been deleted elsewhere (file replaced, sweep, another process). The cached
   * fact that an id is stored is valid only within one epoch. Cheap: called once per request.
   *
   * @throws StoreUnavailable
   */
  epoch(): string;
  /**
   * Finds what is unexpired, and extends its expiry. A store that can answer at once returns no promise; it then throws
   * `StoreUnavailable`.
   */
  lookUp(query: LookUp): LookedUp | Promise<LookedUp>;
  /** Decisions by key; unknown and expired keys are absent from the map. */
  findDecisions(keys: readonly string[]): Promise<Map<string, Decision>>;
  /**
   * Compresses the originals of a batch before it is written. Answers like `lookUp`, but never fails. Absent if the store
   * ignores compressed originals.
   */
  pack?(batch: StoreBatch): StoreBatch | Promise<StoreBatch>;
  /**
   * Writes a batch in one durable transaction, waiting at most `waitMs` for another writer. Answers like `lookUp`.
   *
   * Never changes existing rows.
   */
  commit(batch: StoreBatch, waitMs: number): Committed | Promise<Committed>;
  /** Records of sent messages, by prefix; reading extends their expiry. Unknown prefixes are absent from the map. */
  findSent(prefixes: readonly string[]): Promise<Map<string, SentMessage>>;
  /** Adds records for which no request waits, together with other background writes. Existing records stay. */
  addSent(messages: readonly SentMessage[]): Promise<void>;
  /**
   * Whether there is certainly no record of sent messages under any of these prefixes, answered at once with one
   * statement. `false` if there is one, or the store cannot answer now. Absent if it never answers at once.
   */
  hasNoSent?(prefixes: readonly string[]): boolean;
  /** The unexpired prune behind an id, or `null`. */
  findPrune(pruneId: string): Promise<StoredPrune | null>;
  /** The unexpired original text behind an id, exact to the UTF-16 unit, or `null`. */
  findOriginal(pruneId: string): Promise<string | null>;
  /** Returns the ids that are stored and unexpired. */
  knownPruneIds(pruneIds: readonly string[]): Promise<Set<string>>;

  /**
   * Remembers hashes of texts that `recover_text` served, so that they are not pruned in later requests; expires like
   * prunes.
   */
  markServed(textHashes: readonly string[]): Promise<void>;
  wasServed(textHashes: readonly string[]): Promise<Set<string>>;
  /** Records conversations (by prefix hash) that the proxy must no longer prune. */
  markRefused(prefixHash: string): Promise<void>;
  /** The prefix hashes recorded by `markRefused` that have not expired, newest first, at most 10,000. */
  refusedConversations(): Promise<readonly string[]>;

  addEvents(events: readonly EventRecord[]): Promise<void>;
  /** Events with `seq >= fromSeq`, ascending, at most `limit`; only of one run if `runId` is given. */
  events(query: {
    readonly runId?: string;
    readonly fromSeq: number;
    readonly limit: number;
  }): Promise<readonly StoredEvent[]>;

  /** Figures for `/metrics` and `/health`. */
  stats(): Promise<{ readonly prunes: number; readonly snapshots: number; readonly bytes: number }>;
  /**
   * Runs one small maintenance step (expiry, limits, compression); returns whether there is more to do. Not on the
   * request path.
   */
  sweep(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * How one message was sent: which texts were cut, and how. Stored under a hash of the received conversation up to this
 * message. Contains no texts, because requests that repeat the message contain them. The render options are the ones
 * used when the cuts were made.
 */
export interface SentMessage extends RenderOptions {
  /** Hash of the message and all messages before it, 32 hex digits. */
  readonly prefix: string;
  readonly texts: readonly SentText[];
}

/** Position of a text in its message, independent of the settings by which it was found. */
export interface TextPlace {
  /** Index among the message's texts. */
  readonly text: number;
  /** For JSON nested in JSON strings: the offset of each string in the one around it, outermost first. */
  readonly json: readonly number[];
  /** Offset in the innermost string, and length, in UTF-16 units. */
  readonly start: number;
  readonly chars: number;
}

/** A text that was cut. */
export interface SentText extends TextPlace {
  readonly decision: SentDecision;
}

/** A decision without the goal (which contains user text) and without the inputs. */
export type SentDecision = Omit<Decision, 'goal' | 'basis'>;
