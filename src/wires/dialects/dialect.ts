import type { Span } from '../json/cursor.ts';
import type { WalkShape } from '../json/walk.ts';

/**
 * One wire format, through which the core reads requests. A new format is a folder next to `openai-chat/`, referenced
 * by a provider; it must pass `test/contract/dialect.suite.ts`.
 */
export interface Dialect {
  readonly name: 'chat' | 'messages' | 'responses' | 'gemini' | 'interactions' | 'converse';
  /**
   * Whether the provider verifies that a request repeats earlier messages as sent: `always`; only while the model's
   * reasoning is part of the conversation; or `never`. After a changed message such a provider refuses the request or
   * drops the reasoning. Elsewhere, a changed message costs a prompt-cache miss.
   */
  readonly verifiesHistory: 'always' | 'with-reasoning' | 'never';
  /**
   * Whether the provider can store the history, so that a request may contain only new messages: as `items` under the
   * id of each answer, in `threads` opened by a client, or `never`. Messages of such conversations are also recognised
   * by the calls that they answer, not only by the preceding messages.
   */
  readonly keepsHistory: 'items' | 'threads' | 'never';
  /** The purpose of a request, or `null` if it does not belong to this wire. `path` has no query. */
  claims(method: string, path: string): Purpose | null;
  /** Facts in the path that other wires have in the body; absent if there are none. */
  namedIn?(path: string): Pick<RequestHead, 'model' | 'stream'>;
  /**
   * Walks the raw bytes of a body and finds messages, calls and texts without decoding unneeded parts. Ambiguous texts
   * (a relevant key occurs twice) are never reported as changeable.
   *
   * @param resume - where to resume if the beginning of the body is known from an earlier one
   * @throws JsonShapeError if the bytes are not understood, or exceed the limits
   */
  scan(body: Buffer, resume?: Resume): ScannedBody;
  /** Lets requests of this wire pass without being read if nothing in them is to be decided; absent if they never do. */
  readonly walk?: WalkShape;
  /**
   * Whether an answer rejects a request because of a changed history. Absent if the provider does not verify the
   * history.
   *
   * @param answer - the beginning of the answer's body, decoded
   */
  refusesHistory?(status: number, answer: Buffer): boolean;
  /**
   * Whether an answer rejects a request because the provider lost, or cannot continue, its stored history, so that the
   * request's content is not at fault. Absent if the provider stores none.
   *
   * @param answer - the beginning of the answer's body, decoded
   */
  refusesToContinue?(answer: Buffer): boolean;
  /** JSON body of an error raised by the proxy, in the format that clients of this wire expect. */
  error(status: number, code: string, message: string): Buffer;
}

/**
 * `generate`: requests a model answer. `count`, `compact`: repeat messages that were sent before and get no new
 * decisions.
 */
export type Purpose = 'generate' | 'count' | 'compact';

/** The author of a message. `other`: instructions and unknown messages, which are never changed. */
export type Role = 'user' | 'assistant' | 'tool' | 'other';

/**
 * The kind of a text. `result`: the answer to a tool call. `words`: a user's text, with files in it. `document`: a
 * whole file. `said`: the model's text. `other`: never changed.
 */
export type TextUse = 'result' | 'words' | 'document' | 'said' | 'thought' | 'other';

/** A text of a message: one JSON string of the body. */
export interface ScannedText {
  /** Span of the JSON string, quotes included. */
  readonly literal: Span;
  readonly use: TextUse;
  /** For results, the id of the answered call; otherwise `''`. */
  readonly callId: string;
  /** For results, the tool name if the message contains it; for documents, title or path; otherwise `''`. */
  readonly name: string;
}

/** A tool call by the model; `args` is the span of its arguments: a JSON string, or any JSON value. */
export interface ScannedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Span | null;
}

/**
 * One message (or item), with spans in the body. A message may contain results of several calls, and words around them.
 */
export interface ScannedMessage {
  readonly span: Span;
  /** An `assistant` message after a result proves that the model has read the result as sent. */
  readonly role: Role;
  readonly texts: readonly ScannedText[];
  readonly calls: readonly ScannedCall[];
  /** Part of the message is ambiguous, so it is read but never changed. */
  readonly opaque: boolean;
  /** The message is model reasoning, or refers to an item that may be. */
  readonly reasoning?: boolean;
}

/** The fields outside the messages. */
export interface RequestHead {
  readonly model: string;
  readonly stream: boolean;
  /** Id of the stored answer that the messages continue, if the provider stores the history; otherwise `''`. */
  readonly previous: string;
  /** The provider stores the history in a thread, or is asked to. */
  readonly thread: boolean;
  /** The conversation contains model reasoning, or its next answer may, although no message is marked as reasoning. */
  readonly reasoning: boolean;
  /** The client itself has the provider clear parts of the history. */
  readonly managesContext?: boolean;
  /** Spans of the fields outside the messages that determine the available tools: tools and instructions. */
  readonly outside: readonly Span[];
}

export interface ScannedBody extends RequestHead {
  readonly messages: readonly ScannedMessage[];
  /** The fields before the first message, for a scan that resumes after it. */
  readonly before: RequestHead;
}

/** A point at which a scan may resume: after messages that are known from an earlier body. */
export interface Resume {
  /** Offset of the byte after the last known message. */
  readonly at: number;
  readonly before: RequestHead;
  readonly messages: readonly ScannedMessage[];
}

/** Token counts reported by the provider. */
export interface ProviderUsage {
  /** All input tokens, cached or not. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Tokens of hidden reasoning, included in the completion; absent if the provider does not report them. */
  readonly reasoningTokens?: number | null;
  /** Input tokens read from a cache. */
  readonly cachedTokens: number | null;
  /** Input tokens written to a cache; absent if not reported. */
  readonly cacheWriteTokens?: number | null;
  /** Part of these with the longer of two lifetimes (1 h, 12 h); absent if not reported. */
  readonly cacheWrite1hTokens?: number | null;
  /** Tokens of further model calls within the request, such as a compaction: billed, but in no other figure. */
  readonly besides?: BilledTokens;
  /** How the request was served, if that has another price: `flex`, `priority`, `batch`, `fast`, `us`. Default: none. */
  readonly served?: readonly string[];
  /** Number of calls of the provider's own web search, which are billed one by one. */
  readonly searches?: number;
  /** What the answer itself says that it cost, in dollars. */
  readonly cost?: number;
}

/**
 * Tokens of a model call, by price class. `input` includes all others except `output`; `written1h` is part of
 * `written`.
 */
export interface BilledTokens {
  readonly input: number;
  readonly output: number;
  readonly read: number;
  readonly written: number;
  readonly written1h: number;
}

/** `unknown`: no event has arrived, or a non-streamed answer is incomplete. `error`: the first event is an error. */
export type AnswerStart = 'unknown' | 'answer' | 'error';

export interface Answer {
  /** `null` if not reported. */
  readonly usage: ProviderUsage | null;
  readonly model: string | null;
  /** An error inside the answer, regardless of HTTP status; `null` if there is none. */
  readonly error: AnswerError | null;
  readonly turn: AnswerTurn;
  readonly reports: ProviderReports;
  /** Size of the model's text and arguments, in bytes of JSON, for estimating output that is not reported. */
  readonly textBytes: number;
  /** The whole answer could be read and holds neither usage nor anything that the model made. */
  readonly isEmpty?: boolean;
  /** The answer was compressed, and at least a part of it could not be decoded. */
  readonly isUnread?: boolean;
}

/**
 * The kind of an error, used instead of the provider's message, which may contain texts. `refused`: the provider
 * rejects the content of the request. `limited`: too many requests. `failed`: anything else.
 */
export type AnswerError = 'refused' | 'overloaded' | 'limited' | 'failed';

export interface ProviderReports {
  /**
   * Number of earlier model blocks that the provider dropped, or would have dropped, because of a changed history:
   * `prefix_binding_mismatch` on messages, `prefix_mismatch` on responses.
   */
  readonly prefixMismatches: number;
  /** Input tokens cleared by the provider, as requested. */
  readonly clearedTokens: number;
  /** A count was larger than any model's context; it is ignored, and the bill estimated. */
  readonly hasOddCounts?: boolean;
}

export interface AnswerTurn {
  /** Id by which later requests may refer to the turn, or `''`. */
  readonly id: string;
  /** Items in the order in which a client sends them back, on wires whose provider stores them. */
  readonly items: readonly AnswerItem[];
  /** Number of calls of each tool, by declared name. */
  readonly calls: ReadonlyMap<string, number>;
}

/** An item of an answer: model text, or calls. A call with two ids is listed once for each. */
export interface AnswerItem {
  readonly said: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[];
}
