import type { Purpose, ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { RequestScope, SeenSegment } from './segments.ts';

/** A text of a tool's result that is long enough to be stored. */
export interface SeenResult {
  readonly text: string;
  /** `textHash` of the text, and the prune id under which it is stored whole. */
  readonly hash: string;
  readonly pruneId: string;
  /** Of the whole string that contains it. */
  readonly outerHash: string;
  readonly tool: string;
  readonly path: string;
  /** What the call asked for, in the words of its arguments. */
  readonly said: string;
  /** Hash of the call's name and arguments; `''` if neither is known. */
  readonly call: string;
  /** Id of the call, or the name of its function; `null` for a result in a message of the user. */
  readonly callId: string | null;
}

/** A message that an observer has not seen before. Its texts are gone once the observers have seen it. */
export interface SeenMessage {
  readonly index: number;
  readonly role: ScannedMessage['role'];
  /** The texts of a user's message, results apart. */
  readonly words: readonly string[];
  /** The first characters of an item that is neither a message nor a result, as in the body; otherwise `''`. */
  readonly head: string;
  readonly segments: readonly SeenSegment[];
  readonly results: readonly SeenResult[];
}

/** What observers know of a request as a whole: the same object with each part of it. Holds no text. */
export interface SeenRequestHead {
  readonly scope: RequestScope;
  readonly conversationId: string;
  /** For each message, a hash of it and of all messages before it. */
  readonly prefixes: readonly string[];
  /** Number of messages. */
  readonly messages: number;
  /** Index of the first message that was read in this request; those before it are known from an earlier one. */
  readonly first: number;
  /** Size of the body. */
  readonly bytes: number;
  readonly model: string;
  /** What the client wants; `null` if pruning is disabled for its project. */
  readonly purpose: Purpose | null;
  /** The id of its session, as the client names it; `''` if it does not. */
  readonly session: string;
  /** The first messages of the conversation end before this one: they may contain a summary of an earlier one. */
  readonly opening: number;
  /** Its results may be stored. */
  readonly keepsResults: boolean;
  /** Whether originals belong to projects. */
  readonly isOwned: boolean;
  /** Under which project and directives its segments are recorded; `null`: they are not. */
  readonly segments: SegmentsHead | null;
}

export interface SegmentsHead {
  readonly scope: RequestScope;
  /** Changes with the directives that apply. */
  readonly version: string;
  /** The conversation has only begun: there is nothing that could be collected. */
  readonly hasOnlyBegun: boolean;
}

/** Some consecutive messages of a request, in order. */
export interface Seen {
  readonly request: SeenRequestHead;
  readonly messages: readonly SeenMessage[];
  /** Whether these are the last ones of the request. */
  readonly isLast: boolean;
}

/**
 * Observes what requests bring that is new. Synchronous and cheap: it takes facts, never touches a body, keeps no
 * text beyond a bound, and does no work that grows with the history.
 */
export interface Observer {
  /** Index of the first message of a request that it has not seen; the number of messages if it has seen all. */
  newFrom(request: SeenRequestHead): number;
  /** Receives each request, before its messages and even if all of these are known. */
  begin?(request: SeenRequestHead): void;
  /** Receives the messages of a request from `newFrom` on, part by part. */
  see(seen: Seen): void;
}
