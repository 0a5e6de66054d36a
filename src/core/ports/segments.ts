/**
 * A segment is one text of a conversation that can be pinned, stashed or deleted as a whole: a tool's result, a file
 * in a user's message, or the text of a message. System prompts and the arguments of calls are none.
 */
export type SegmentType = 'message' | 'code' | 'log' | 'note' | 'decision' | 'summary';

/** What produced a segment; `edit` is the answer to a call that changed files. */
export type Effect = 'asked' | 'said' | 'attached' | 'read' | 'edit' | 'search' | 'list' | 'run' | 'other';

/** What is to become of a segment: whole, a marker that leads to it, or a marker alone. */
export type DirectiveAction = 'pin' | 'stash' | 'delete';

/** Whose request it is, as its headers say. */
export interface RequestScope {
  /** `x-mcp-pruner-project`, or `default`. */
  readonly project: string;
  /** `x-mcp-pruner-task`, or `''`: then the conversation is the task. */
  readonly task: string;
  readonly requestId: string;
  /** Product name of the user agent; absent where it is not known. */
  readonly client?: string;
}

/** A segment as a request shows it. Holds its text, so it must not live longer than it takes to note it. */
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
  /** First and last line of the file that was asked for; 0 where that is not known. */
  readonly startLine: number;
  readonly endLine: number;
  /** The call's id, and a hash of its name and arguments; `''` for what answers no call. */
  readonly callId: string;
  readonly callKey: string;
  /** What the call asked for: paths, patterns, a command. Text of the conversation, like `text`. */
  readonly wanted: string;
  /** Files that the call changed. */
  readonly edited: readonly string[];
  /** The proxy must not let go of it by itself: exempt by the settings, or asked back by the agent. */
  readonly exempt: boolean;
  readonly directed: DirectiveAction | null;
  /** Prunes in the store that contain lines of it. */
  readonly pruneIds: readonly string[];
}

/** What is new in a request, or all of it. */
export interface SeenRequest {
  readonly project: string;
  readonly task: string;
  /** Product name of the user agent; absent where it is not known. */
  readonly client?: string | undefined;
  /** First words of the user; absent or `''` where they are not known. */
  readonly opening?: string | undefined;
  readonly conversationId: string;
  /** How many messages it has. */
  readonly messages: number;
  /** `segments` are those of all its messages, not only of the new ones. */
  readonly whole: boolean;
  readonly segments: readonly SeenSegment[];
}

/** What is kept of a segment as it was seen. */
type KeptOfSeen =
  | ('id' | 'ordinal' | 'role' | 'type' | 'effect')
  | ('tokens' | 'lines' | 'tool' | 'path' | 'startLine' | 'endLine');

/** Facts about a segment that are kept; no text. Keys are hashes of paths, identifiers and call ids. */
export interface SegmentFacts extends Pick<SeenSegment, KeptOfSeen> {
  /** Hash of the call's name and arguments; 0 for what answers no call. */
  readonly callKey: number;
  /** What it is about, by which others refer to it. */
  readonly about: Uint32Array;
  /** What it refers to. */
  readonly mentions: Uint32Array;
  /** Files that were changed by its call. */
  readonly edited: Uint32Array;
}

/** One request to be noted, or several of a conversation in a row. */
export interface SegmentBatch extends Omit<SeenRequest, 'segments'> {
  readonly atMs: number;
  /** Number of requests that it represents. */
  readonly turns: number;
  readonly segments: readonly NotedSegment[];
}

export interface NotedSegment extends SegmentFacts {
  /** Prunes in the store that contain lines of it. */
  readonly pruneIds: readonly string[];
  /** Prunes that must not be there, because it was deleted. */
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
  /** The request of its conversation that brought it first, and the last one that it was noted in. */
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

/** A collection that the proxy started itself. It applies to every request that begins with certain messages. */
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
  /** Segments whose directives go, those of steps included. A segment in `set` too loses its old ones. */
  readonly clear: readonly string[];
  readonly step?: Step;
  /** Prunes whose originals are erased in addition to those known to contain lines of what is deleted. */
  readonly erase?: readonly string[];
}

/** Where segments and directives live. Methods may throw or reject with `StoreUnavailable`. */
export interface SegmentStore {
  /**
   * Changes whenever directives of any project may have changed; a change by another process shows at the next turn of
   * the event loop. Cheap: once a request.
   */
  directivesVersion(): string;
  /** @param known - a generation that the caller has; `null` means that it is still current */
  directives(project: string, known?: number): Promise<ProjectDirectives | null>;
  change(change: DirectiveChange): Promise<void>;
  /** Notes what requests showed, in one transaction. */
  note(batches: readonly SegmentBatch[]): Promise<void>;
  /** The conversations of a project, the one seen last first, at most 1,000; only those that `task` takes part in. */
  conversations(project: string, task?: string): Promise<readonly StoredConversation[]>;
  /** Segments of a conversation, newest message first, behind `after` if given, at most `limit`. */
  segments(
    conversation: StoredConversation,
    page: { readonly after?: Pick<StoredSegment, 'ordinal' | 'row'>; readonly limit: number },
  ): Promise<readonly StoredSegment[]>;
  /** Conversations of all projects, last seen first, after `after` if given, at most `limit`. */
  recentConversations(page: {
    readonly after?: Pick<StoredConversation, 'seenMs' | 'row'>;
    readonly limit: number;
  }): Promise<readonly ProjectConversation[]>;
  /** The conversations of this name, one for each project at the most, the one seen last first, at most 100. */
  conversationsNamed(name: string): Promise<readonly ProjectConversation[]>;
  /** Ids of the prunes that contain lines of segments, by the segment's `row`; a segment without any is absent. */
  prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Segments of a project by id; unknown ones are absent. */
  findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>>;
}

/** What the directives say, as one request sees them. */
export interface DirectivesView {
  /** Changes whenever an answer may. */
  readonly mark: string;
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

/** Answers what the directives say; rejects with `StoreUnavailable`. */
export interface Directives {
  /** The view as far as it needs no reading; `null` when it does, or when the store cannot be asked. */
  known(project: string): DirectivesView | null;
  view(project: string): Promise<DirectivesView>;
}

/** A conversation that passed its budget. */
export interface OverTokenBudget {
  readonly scope: RequestScope;
  readonly request: SeenRequest;
  /** Of the whole request as it would be forwarded, estimated. */
  readonly tokens: number;
  /** From which message on a step would apply. */
  readonly step: Step;
  /** The share of the request's bytes from a message on, 0..1. */
  readonly shareFrom: (ordinal: number) => number;
}

/** Sets parts of conversations aside by itself, in steps. */
export interface Collector {
  /** Whether a request of this size may call for a step. Cheap: once a request. */
  wants(scope: RequestScope, conversationId: string, tokens: number): boolean;
  /**
   * Takes one big step where that pays.
   *
   * @returns whether directives were set; they are durable then
   */
  collect(over: OverTokenBudget): Promise<boolean>;
}

/** What the pipeline of a request needs to know of segments. */
export interface SegmentPorts {
  readonly directives: Directives;
  /**
   * Takes what a request showed, once it was read; must neither throw nor wait. Called when the request is on its way, in
   * the order of requests; a rejected promise is reported elsewhere.
   */
  readonly onSeen: (request: Promise<SeenRequest>) => void;
  /** Keeps conversations within a budget of tokens. */
  readonly collector?: Collector;
  /** Sets aside what pays for being set aside; asked where the budget does not call. */
  readonly payer?: Collector;
}
