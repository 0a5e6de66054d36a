/**
 * A segment is one text of a conversation that can be pinned, stashed or deleted as a whole: a tool's result, a file in
 * a user's message, or the text of a message. System prompts and call arguments are not segments, but old arguments can be put aside (`SeenArgument`).
 */
export type SegmentType = 'message' | 'code' | 'log' | 'note' | 'decision' | 'summary';

/** Origin of a segment; `edit` is the answer to a call that changed files. */
export type Effect = 'asked' | 'said' | 'attached' | 'read' | 'edit' | 'search' | 'list' | 'run' | 'other';

/**
 * How a segment is sent. `pin` keeps it whole; `stash` replaces it with a recoverable marker; `delete` replaces it with
 * an unrecoverable one. `aside` is a stash of an old result while the provider's cache was cold.
 */
export type DirectiveAction = 'pin' | 'stash' | 'aside' | 'delete';

/** Whose request it is, according to its headers. */
export interface RequestScope {
  /** `x-mcp-pruner-project`, or `default`. */
  readonly project: string;
  /** `x-mcp-pruner-task`, or `''`, in which case the conversation is the task. */
  readonly task: string;
  readonly requestId: string;
  /** Product name of the user agent; absent if unknown. */
  readonly client?: string;
  /** Product name and version, as in `claude-cli/2.1.332`. */
  readonly agent?: string;
  /** Distinguishes clients that name no session: product, title and run; absent or `''` if unknown. */
  readonly origin?: string;
}

/** A segment of a request, with its text. Must not be retained after it was recorded. */
export interface SeenSegment {
  /** `seg_` and 12 base-32 characters; the same text as answer to the same call always has the same id. */
  readonly id: string;
  readonly text: string;
  /** Index of the message. */
  readonly ordinal: number;
  readonly role: 'user' | 'assistant' | 'tool';
  readonly type: SegmentType;
  readonly effect: Effect;
  /** Estimated tokens as forwarded, without lines that were cut earlier. */
  readonly tokens: number;
  readonly lines: number;
  readonly tool: string;
  readonly path: string;
  /** First and last line of the requested range of a file; 0 if unknown. */
  readonly startLine: number;
  readonly endLine: number;
  /** Call id, and a hash of the call's name and arguments; `''` if the segment answers no call. */
  readonly callId: string;
  readonly callKey: string;
  /** What the call requested: paths, patterns, a command. This is conversation text, like `text`. */
  readonly wanted: string;
  /** Files changed by the call. */
  readonly edited: readonly string[];
  /** Excluded from automatic stashing: exempt by settings, or recovered by the agent. */
  readonly exempt: boolean;
  readonly directed: DirectiveAction | null;
  /** Stored prunes that contain lines of the segment. */
  readonly pruneIds: readonly string[];
  /** Hashes of its texts. */
  readonly hashes: readonly string[];
  /** Hashes of earlier texts whose lines it refers to instead of repeating them. */
  readonly copies: readonly string[];
}

/** The segments of a request: only new ones or, with `whole`, all. */
export interface SeenRequest {
  readonly project: string;
  readonly task: string;
  /** Product name of the user agent; absent if unknown. */
  readonly client?: string | undefined;
  /** First words of the user; absent or `''` if unknown. */
  readonly opening?: string | undefined;
  readonly conversationId: string;
  /** Number of messages. */
  readonly messages: number;
  /** Whether `segments` covers all messages and not only the new ones. */
  readonly whole: boolean;
  readonly segments: readonly SeenSegment[];
}

/** The stored fields of `SeenSegment`. */
type KeptOfSeen =
  | ('id' | 'ordinal' | 'role' | 'type' | 'effect')
  | ('tokens' | 'lines' | 'tool' | 'path' | 'startLine' | 'endLine');

/** Stored facts about a segment, without text. Keys are hashes of paths, identifiers and call ids. */
export interface SegmentFacts extends Pick<SeenSegment, KeptOfSeen> {
  /** Hash of the call's name and arguments; 0 if the segment answers no call. */
  readonly callKey: number;
  /** Keys of the segment's own subject, by which other segments refer to it. */
  readonly about: Uint32Array;
  /** Keys that the segment refers to. */
  readonly mentions: Uint32Array;
  /** Files changed by the call. */
  readonly edited: Uint32Array;
}

/** One request to record, or several consecutive ones of a conversation. */
export interface SegmentBatch extends Omit<SeenRequest, 'segments'> {
  readonly atMs: number;
  /** Number of requests in the batch. */
  readonly turns: number;
  readonly segments: readonly NotedSegment[];
}

export interface NotedSegment extends SegmentFacts {
  /** Stored prunes that contain lines of the segment. */
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
   * Number of the last request that did more than append to the previous one. Segments not seen since then are no
   * longer part of the conversation.
   */
  readonly baseTurn: number;
  readonly messages: number;
  readonly seenMs: number;
}

/** A conversation with its project. */
export interface ProjectConversation extends StoredConversation {
  readonly project: string;
}

export interface StoredSegment extends SegmentFacts {
  readonly row: number;
  /** Name of the conversation in which the segment was last seen. */
  readonly conversation: string;
  readonly task: string;
  readonly createdMs: number;
  /** Numbers of the first and the last request of the conversation that contained the segment. */
  readonly firstTurn: number;
  readonly seenTurn: number;
  readonly directed: DirectiveAction | null;
}

/** A directive about a segment of a project. */
export interface Directive {
  readonly segment: string;
  readonly action: DirectiveAction;
  /** `''` means every conversation of the project. Otherwise the `scope` of a step. */
  readonly scope: string;
  /**
   * Last message index to which the directive applies, -1 for all. The same text in a later message is not affected.
   */
  readonly upTo: number;
}

/** An automatic stash by the proxy. Applies to every request that begins with the messages hashed in `scope`. */
export interface Step {
  /** Hash of the step's messages. */
  readonly scope: string;
  readonly conversation: string;
  /** Number of messages. */
  readonly messages: number;
}

export interface ProjectDirectives {
  /** Changes with every change to the directives of the project. */
  readonly generation: number;
  readonly directives: readonly Directive[];
  readonly steps: readonly Step[];
}

/** A set of changes to directives, applied atomically. */
export interface DirectiveChange {
  readonly project: string;
  readonly set: readonly Directive[];
  /**
   * Segments whose directives are removed, including those of steps. If a segment is also in `set`, only its new
   * directive remains.
   */
  readonly clear: readonly string[];
  readonly step?: Step;
  /** Further prunes to erase, in addition to those known to contain lines of a deleted segment. */
  readonly erase?: readonly string[];
}

/** The store of segments and directives. Methods may throw or reject with `StoreUnavailable`. */
export interface SegmentStore {
  /**
   * Changes whenever directives of any project may have changed; changes by other processes become visible in the next
   * event-loop turn. Cheap: called once per request.
   */
  directivesVersion(): string;
  /** @param known - the caller's generation; the result is `null` if it is still current */
  directives(project: string, known?: number): Promise<ProjectDirectives | null>;
  change(change: DirectiveChange): Promise<void>;
  /** Records the segments of requests, in one transaction. */
  note(batches: readonly SegmentBatch[]): Promise<void>;
  /**
   * The conversations of a project, most recently seen first, at most 1,000; with `task`, only conversations of that
   * task.
   */
  conversations(project: string, task?: string): Promise<readonly StoredConversation[]>;
  /** Segments of a conversation, newest message first, starting after `after` if given, at most `limit`. */
  segments(
    conversation: StoredConversation,
    page: { readonly after?: Pick<StoredSegment, 'ordinal' | 'row'>; readonly limit: number },
  ): Promise<readonly StoredSegment[]>;
  /** Conversations with this name, at most one per project, most recently seen first, at most 100. */
  conversationsNamed(name: string): Promise<readonly ProjectConversation[]>;
  /** Ids of the prunes that contain lines of segments, by segment `row`; segments without any are absent. */
  prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Segments of a project by id; unknown ones are absent. */
  findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>>;
}

/** The directives that apply to one request. */
export interface DirectivesView {
  /** Changes whenever the result of `of` may change. */
  readonly version: string;
  /** Whether there is no directive at all. */
  readonly empty: boolean;
  /** Steps of the collectors that may apply to a conversation. */
  stepsOf(conversationId: string): readonly Step[];
  /**
   * @param ordinal - index of the message
   * @param scopes - the steps that apply to the request
   */
  of(segmentId: string, ordinal: number, scopes: ReadonlySet<string>): DirectiveAction | null;
}

/** Looks up directives; rejects with `StoreUnavailable`. */
export interface Directives {
  /** The cached view; `null` if that requires a store access or the store is unavailable. */
  known(project: string): DirectivesView | null;
  view(project: string): Promise<DirectivesView>;
}

/** Checksums of everything before the messages, and the model. The provider caches each combination separately. */
export interface HeadSums {
  readonly model: string;
  readonly tools: string;
  readonly system: string;
  /** Checksum of the client's summary at the beginning of the history; `''` without one, absent if unknown. */
  readonly summary?: string | undefined;
}

/** A request that a collector may take a step for. */
export interface CollectedRequest {
  readonly scope: RequestScope;
  readonly conversationId: string;
  /** Estimated tokens of the whole request as forwarded; 0 unless a collector needs it. */
  readonly tokens: number;
  /** Size of the body as forwarded. */
  readonly bytes: number;
  readonly messages: number;
  /** Name of the wire. */
  readonly wire: string;
  readonly head: () => HeadSums;
  /** Arrival time. */
  readonly nowMs: number;
}

/** A long string in the arguments of a call that changes files. It can be put aside like a result. */
export interface SeenArgument extends Pick<SeenSegment, 'id' | 'text' | 'ordinal' | 'tokens' | 'lines' | 'callId'> {
  /** Files that the call changes. */
  readonly files: readonly string[];
  /** The id under which it is stored when put aside. */
  readonly pruneId: string;
  /** Excluded by settings. */
  readonly exempt: boolean;
  readonly directed: DirectiveAction | null;
}

/** A request with messages that may be stashed. */
export interface OverTokenBudget {
  readonly scope: RequestScope;
  readonly request: SeenRequest;
  /** Index of the message with the user's last words; -1 if there are none. */
  readonly asked: number;
  /** Returns the long arguments of calls that change files. */
  readonly seenArguments: () => readonly SeenArgument[];
  /** Estimated tokens of the whole request as forwarded; 0 unless a collector needs it. */
  readonly tokens: number;
  /** Size of the body as forwarded. */
  readonly bytes: number;
  readonly wire: string;
  readonly head: () => HeadSums;
  readonly nowMs: number;
  /** Returns a parsed message as the client sent it. */
  readonly messageAt: (ordinal: number) => unknown;
  /** The step to take. Messages in its scope may be stashed. */
  readonly step: Step;
  /** Share of the request's bytes from a message to the end, 0..1. */
  readonly shareFrom: (ordinal: number) => number;
}

/** Stashes parts of conversations automatically, in steps. */
export interface Collector {
  /** Whether it judges requests by their tokens, which must then be counted. */
  readonly counts: boolean;
  /** The step that a request may need; `null` if none. Cheap, from memory: called once per request. */
  stepFor(request: CollectedRequest): TakeStep | null;
  /** Called for requests in which nothing may be stashed, because the provider verifies the history. */
  refused(request: CollectedRequest): void;
  /** Whether a request exceeds a token budget. */
  isOver(request: CollectedRequest): boolean;
  /** Called before a request is forwarded, for processes that do not receive its answer. Returns at once. */
  sending(request: CollectedRequest): void;
}

/**
 * Takes one large step if it frees enough tokens or saves money.
 *
 * @returns whether directives were set; if so, they are durable
 */
export type TakeStep = (over: OverTokenBudget) => Promise<boolean>;

/** Segment-related ports of the request pipeline. */
export interface SegmentPorts {
  readonly directives: Directives;
  readonly collector?: Collector;
}
