/**
 * A segment is one text of a conversation that can be pinned, stashed or deleted as a whole: a tool's result, a file in
 * a user's message, or the text of a message. System prompts and call arguments are not segments.
 */
export type SegmentType = 'message' | 'code' | 'log' | 'note' | 'decision' | 'summary';

/** What produced a segment; `edit` is the answer to a call that changed files. */
export type Effect = 'asked' | 'said' | 'attached' | 'read' | 'edit' | 'search' | 'list' | 'run' | 'other';

/**
 * How a segment is sent: `pin` keeps it whole, `stash` replaces it with a recoverable marker, `delete` with a marker
 * that cannot be recovered. `aside` is a stash of an old result while the provider's cache was cold.
 */
export type DirectiveAction = 'pin' | 'stash' | 'aside' | 'delete';

/** Whose request it is, according to its headers. */
export interface RequestScope {
  /** `x-mcp-pruner-project`, or `default`. */
  readonly project: string;
  /** `x-mcp-pruner-task`, or `''`: then the conversation is the task. */
  readonly task: string;
  readonly requestId: string;
  /** Product name of the user agent; absent if unknown. */
  readonly client?: string;
  /** The same with its version, as in `claude-cli/2.1.332`. */
  readonly agent?: string;
}

/** A segment as a request contains it. Holds its text, so it must not be kept once it has been recorded. */
export interface SeenSegment {
  /** `seg_` and 12 base-32 characters: the same whenever the same text is the answer to the same call. */
  readonly id: string;
  readonly text: string;
  /** Index of its message. */
  readonly ordinal: number;
  readonly role: 'user' | 'assistant' | 'tool';
  readonly type: SegmentType;
  readonly effect: Effect;
  /** Estimated tokens as forwarded, without lines that were cut earlier. */
  readonly tokens: number;
  readonly lines: number;
  readonly tool: string;
  readonly path: string;
  /** First and last line of the file that was asked for; 0 if unknown. */
  readonly startLine: number;
  readonly endLine: number;
  /** The call's id, and a hash of its name and arguments; `''` if it answers no call. */
  readonly callId: string;
  readonly callKey: string;
  /** What the call asked for: paths, patterns, a command. Text of the conversation, like `text`. */
  readonly wanted: string;
  /** Files that the call changed. */
  readonly edited: readonly string[];
  /** The proxy must not stash it automatically: the settings exempt it, or the agent has recovered it. */
  readonly exempt: boolean;
  readonly directed: DirectiveAction | null;
  /** Prunes in the store that contain lines of it. */
  readonly pruneIds: readonly string[];
}

/** The segments of a request: the new ones, or (`whole`) all. */
export interface SeenRequest {
  readonly project: string;
  readonly task: string;
  /** Product name of the user agent; absent if unknown. */
  readonly client?: string | undefined;
  /** First words of the user; absent or `''` if unknown. */
  readonly opening?: string | undefined;
  readonly conversationId: string;
  /** How many messages it has. */
  readonly messages: number;
  /** Whether `segments` covers all messages and not only the new ones. */
  readonly whole: boolean;
  readonly segments: readonly SeenSegment[];
}

/** The fields of `SeenSegment` that are stored. */
type KeptOfSeen =
  | ('id' | 'ordinal' | 'role' | 'type' | 'effect')
  | ('tokens' | 'lines' | 'tool' | 'path' | 'startLine' | 'endLine');

/** Facts about a segment that are stored; no text. Keys are hashes of paths, identifiers and call ids. */
export interface SegmentFacts extends Pick<SeenSegment, KeptOfSeen> {
  /** Hash of the call's name and arguments; 0 if it answers no call. */
  readonly callKey: number;
  /** What it is about, by which others refer to it. */
  readonly about: Uint32Array;
  /** What it refers to. */
  readonly mentions: Uint32Array;
  /** Files that were changed by its call. */
  readonly edited: Uint32Array;
}

/** A segment of a request without its text. */
export interface ReadSegment extends SegmentFacts, Pick<SeenSegment, 'directed' | 'pruneIds'> {}

/** As `SeenRequest`, without texts. */
export interface ReadSegments extends Omit<SeenRequest, 'segments'> {
  readonly segments: readonly ReadSegment[];
}

/** Records the segments of requests. */
export interface SegmentNotes {
  /** Reads a segment; the result holds no text. */
  read(segment: SeenSegment): ReadSegment;
  /** Records a request. Never waits. */
  note(request: ReadSegments): void;
}

/** One request to record, or several consecutive ones of a conversation. */
export interface SegmentBatch extends Omit<SeenRequest, 'segments'> {
  readonly atMs: number;
  /** Number of requests that it represents. */
  readonly turns: number;
  readonly segments: readonly NotedSegment[];
}

export interface NotedSegment extends SegmentFacts {
  /** Prunes in the store that contain lines of it. */
  readonly pruneIds: readonly string[];
  /** Prunes to erase, because the segment was deleted. */
  readonly erase: readonly string[];
}

/** A conversation as the proxy saw it. */
export interface StoredConversation {
  readonly row: number;
  readonly name: string;
  readonly task: string;
  /** Requests so far. */
  readonly turns: number;
  /**
   * Number of the last request that did more than append to the one before. Segments not seen since that request are no
   * longer part of the conversation.
   */
  readonly baseTurn: number;
  readonly messages: number;
  readonly seenMs: number;
}

/** A conversation with the project that it belongs to. */
export interface ProjectConversation extends StoredConversation {
  readonly project: string;
}

export interface StoredSegment extends SegmentFacts {
  readonly row: number;
  /** Name of the conversation that it was last seen in. */
  readonly conversation: string;
  readonly task: string;
  readonly createdMs: number;
  /** Numbers of the first and the latest request of its conversation that contained it. */
  readonly firstTurn: number;
  readonly seenTurn: number;
  readonly directed: DirectiveAction | null;
}

/** A directive about a segment of a project. */
export interface Directive {
  readonly segment: string;
  readonly action: DirectiveAction;
  /** `''`: in every conversation of the project. Otherwise the `scope` of the step that it belongs to. */
  readonly scope: string;
  /**
   * Last message index to which the directive applies, -1 for all. The same text in a later message is not affected.
   */
  readonly upTo: number;
}

/** An automatic stash by the proxy. Applies to every request that begins with the messages hashed in `scope`. */
export interface Step {
  /** Hash of those messages. */
  readonly scope: string;
  readonly conversation: string;
  /** How many they are. */
  readonly messages: number;
}

export interface ProjectDirectives {
  /** Changes with every change to the directives of the project. */
  readonly generation: number;
  readonly directives: readonly Directive[];
  readonly steps: readonly Step[];
}

/** Changes to directives, made together or not at all. */
export interface DirectiveChange {
  readonly project: string;
  readonly set: readonly Directive[];
  /**
   * Segments whose directives are removed, including those of steps. If a segment is also in `set`, only its new
   * directive remains.
   */
  readonly clear: readonly string[];
  readonly step?: Step;
  /** Prunes whose originals are erased in addition to those known to contain lines of what is deleted. */
  readonly erase?: readonly string[];
}

/** The store of segments and directives. Methods may throw or reject with `StoreUnavailable`. */
export interface SegmentStore {
  /**
   * Changes whenever directives of any project may have changed; a change by another process is noticed in the next
   * turn of the event loop. Cheap: called once per request.
   */
  directivesVersion(): string;
  /** @param known - a generation that the caller has; `null` means that it is still current */
  directives(project: string, known?: number): Promise<ProjectDirectives | null>;
  change(change: DirectiveChange): Promise<void>;
  /** Records the segments of requests, in one transaction. */
  note(batches: readonly SegmentBatch[]): Promise<void>;
  /**
   * The conversations of a project, most recently seen first, at most 1,000; with `task`, only those in which that task
   * takes part.
   */
  conversations(project: string, task?: string): Promise<readonly StoredConversation[]>;
  /** Segments of a conversation, newest message first, starting after `after` if given, at most `limit`. */
  segments(
    conversation: StoredConversation,
    page: { readonly after?: Pick<StoredSegment, 'ordinal' | 'row'>; readonly limit: number },
  ): Promise<readonly StoredSegment[]>;
  /** The conversations of this name, at most one per project, most recently seen first, at most 100. */
  conversationsNamed(name: string): Promise<readonly ProjectConversation[]>;
  /** Ids of the prunes that contain lines of segments, by the segment's `row`; a segment without any is absent. */
  prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Segments of a project by id; unknown ones are absent. */
  findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>>;
}

/** The directives that apply to one request. */
export interface DirectivesView {
  /** Changes whenever the result of `of` may change. */
  readonly version: string;
  /** There is no directive at all. */
  readonly empty: boolean;
  /** Collection steps that may apply to a conversation. */
  stepsOf(conversationId: string): readonly Step[];
  /**
   * @param ordinal - index of the message
   * @param scopes - the steps that apply to the request
   */
  of(segmentId: string, ordinal: number, scopes: ReadonlySet<string>): DirectiveAction | null;
}

/** Looks up directives; rejects with `StoreUnavailable`. */
export interface Directives {
  /** The cached view; `null` if the store would have to be read or is unavailable. */
  known(project: string): DirectivesView | null;
  view(project: string): Promise<DirectivesView>;
}

/** Checksums of what stands in front of the messages, and the model: the provider caches each combination anew. */
export interface HeadSums {
  readonly model: string;
  readonly tools: string;
  readonly system: string;
  /** Checksum of the client's summary of an earlier history at the beginning; `''`: there is none, absent: unknown. */
  readonly summary?: string | undefined;
}

/** A request for which a step may be taken. */
export interface CollectedRequest {
  readonly scope: RequestScope;
  readonly conversationId: string;
  /** Of the whole request as it would be forwarded, estimated; 0 unless a collector needs it. */
  readonly tokens: number;
  readonly messages: number;
  readonly head: () => HeadSums;
  /** When it arrived. */
  readonly nowMs: number;
}

/** A request of which parts may be stashed. */
export interface OverTokenBudget {
  readonly scope: RequestScope;
  readonly request: SeenRequest;
  /** Of the whole request as it would be forwarded, estimated; 0 unless a collector needs it. */
  readonly tokens: number;
  readonly head: () => HeadSums;
  readonly nowMs: number;
  /** A message as the client sent it, parsed. */
  readonly messageAt: (ordinal: number) => unknown;
  /** The step that would be taken. Its messages may be stashed. */
  readonly step: Step;
  /** The share of the request's bytes from a message on, 0..1. */
  readonly shareFrom: (ordinal: number) => number;
}

/** Stashes parts of conversations automatically, in steps. */
export interface Collector {
  /** Whether a request may require a step. Cheap: called once per request. */
  mayNeedStep(request: CollectedRequest): boolean;
  /**
   * Takes one big step if it frees enough or saves money.
   *
   * @returns whether directives were set; they are durable then
   */
  collect(over: OverTokenBudget): Promise<boolean>;
}

/**
 * Lets the provider clear old results itself, where it verifies the history: the field `context_management` is added to
 * each request of a conversation from some request on.
 */
export interface ProviderEdits {
  /** Whether the field may be added from now on. Cheap: called once per request. */
  mayBegin(request: CollectedRequest): boolean;
  /**
   * Decides whether the field is added from this request on. If so, the step and its directive are stored.
   *
   * @throws StoreUnavailable
   */
  begin(request: CollectedRequest, step: Step, directive: Directive): Promise<boolean>;
  /** Whether the upstream has refused the field for a model. @throws StoreUnavailable */
  isRefused(model: string): Promise<boolean>;
  /** Records that the upstream refused the field for a model. @throws StoreUnavailable */
  noteRefused(model: string): Promise<void>;
}

/** What the pipeline of a request needs for segments. */
export interface SegmentPorts {
  readonly directives: Directives;
  /** Puts old results aside when the provider's cache is cold. */
  readonly coldCollector?: Collector;
  /** Keeps conversations within a budget of tokens. */
  readonly collector?: Collector;
  /** Lets the provider clear old results where it verifies the history. */
  readonly providerEdits?: ProviderEdits;
  /** Stashes segments if that saves money; used only while the conversation is within its token budget. */
  readonly costCollector?: Collector;
}
