import type { Purpose, ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { RequestScope, SeenSegment } from './segments.ts';

/** A tool result text that is long enough to be stored. */
export interface SeenResult {
  readonly text: string;
  /** `textHash` of the text, and the prune id under which the whole text is stored. */
  readonly hash: string;
  readonly pruneId: string;
  /** Hash of the whole string that contains the text. */
  readonly outerHash: string;
  readonly tool: string;
  readonly path: string;
  /** What the call requested, taken from its arguments. */
  readonly said: string;
  /** Hash of the call's name and arguments; `''` if both are unknown. */
  readonly call: string;
  /** Call id or function name; `null` for a result in a user message. */
  readonly callId: string | null;
}

/** A message that is new to an observer. Its texts are released once all observers have seen it. */
export interface SeenMessage {
  readonly index: number;
  readonly role: ScannedMessage['role'];
  /** The texts of a user message, without results. */
  readonly words: readonly string[];
  /** The first characters of an item that is neither a message nor a result, as in the body; otherwise `''`. */
  readonly head: string;
  readonly segments: readonly SeenSegment[];
  readonly results: readonly SeenResult[];
}

/** Facts about a request as a whole, without texts. Every part of the request carries the same object. */
export interface SeenRequestHead {
  readonly scope: RequestScope;
  readonly conversationId: string;
  /** For each message, a hash over all messages up to it. */
  readonly prefixes: readonly string[];
  /** Number of messages. */
  readonly messages: number;
  /** Index of the first message that was parsed in this request; earlier ones are known from a previous request. */
  readonly first: number;
  /** Size of the body. */
  readonly bytes: number;
  readonly model: string;
  /** What the client requested; `null` if pruning is disabled for its project. */
  readonly purpose: Purpose | null;
  /** The client's session id; `''` without one. */
  readonly session: string;
  /** End (exclusive) of the opening messages, which may contain a summary of an earlier conversation. */
  readonly opening: number;
  /** Whether results of this request may be stored. */
  readonly keepsResults: boolean;
  /** Whether originals belong to projects. */
  readonly isOwned: boolean;
  /** Project and directives under which segments are recorded; `null` if they are not recorded. */
  readonly segments: SegmentsHead | null;
}

export interface SegmentsHead {
  readonly scope: RequestScope;
  /** Changes with the directives that apply. */
  readonly version: string;
  /** The conversation has only begun, so there is nothing to collect. */
  readonly hasOnlyBegun: boolean;
}

/** Consecutive messages of a request, in order. */
export interface Seen {
  readonly request: SeenRequestHead;
  readonly messages: readonly SeenMessage[];
  /** Whether these are the last messages of the request. */
  readonly isLast: boolean;
}

/**
 * Observes the new parts of requests. Must be synchronous and cheap: no access to the body, bounded memory for texts,
 * and no work that grows with the history.
 */
export interface Observer {
  /** Index of the first message that the observer has not seen; the number of messages if it has seen all. */
  newFrom(request: SeenRequestHead): number;
  /** Called for each request before its messages, even if all of them are known. */
  begin?(request: SeenRequestHead): void;
  /** Called with the messages of a request from `newFrom` on, part by part. */
  see(seen: Seen): void;
}
