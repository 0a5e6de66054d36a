import type { Span } from '../json/cursor.ts';

/**
 * One wire format, through which the core reads requests. A new format is a folder next to `openai-chat/` that a
 * provider names; it must pass `test/contract/dialect.suite.ts`.
 */
export interface Dialect {
  readonly name: 'chat' | 'messages' | 'responses' | 'gemini' | 'interactions' | 'converse';
  /**
   * Whether the provider verifies that a request repeats earlier messages as they were sent: `always`; only while the
   * model's reasoning is part of the conversation; or `never`. After a changed message such a provider refuses the
   * request or drops the reasoning. Elsewhere, a changed message costs a prompt-cache miss.
   */
  readonly verifiesHistory: 'always' | 'with-reasoning' | 'never';
  /**
   * Whether the provider can keep the history, so that a request may contain only new messages, and a later one the
   * whole history: as `items` under the id of each answer, in `threads` that a client opens, or `never`. Messages of
   * such a conversation are also recognised by the calls that they answer, not only by the messages before them.
   */
  readonly keepsHistory: 'items' | 'threads' | 'never';
  /** The purpose of a request, or `null` if it is not one of this wire. `path` has no query. */
  claims(method: string, path: string): Purpose | null;
  /** Facts that this wire states in the path and other wires in the body; absent if the path states none. */
  namedIn?(path: string): Pick<RequestHead, 'model' | 'stream'>;
  /**
   * Walks the raw bytes of a body and finds messages, calls and texts without decoding unneeded parts. Ambiguous texts
   * (a relevant key occurs twice) are never reported as changeable.
   *
   * @param resume - where to continue if the beginning of the body is known from an earlier one
   * @throws JsonShapeError if the bytes are not understood, or exceed the limits
   */
  scan(body: Buffer, resume?: Resume): ScannedBody;
  /**
   * Whether an answer rejects a request because the history before a model's message was changed. Absent if the
   * provider does not verify that.
   *
   * @param answer - the beginning of the answer's body, decoded
   */
  refusesHistory?(status: number, answer: Buffer): boolean;
  /**
   * Whether an answer rejects a request because the provider no longer has, or cannot continue, the history that it
   * kept. The content of the request is then not at fault. Absent if it keeps none.
   *
   * @param answer - the beginning of the answer's body, decoded
   */
  refusesToContinue?(answer: Buffer): boolean;
  /** The JSON body of an error by the proxy, in the shape that clients of this wire expect. */
  error(status: number, code: string, message: string): Buffer;
}

/**
 * `generate`: asks a model for an answer. `count`, `compact`: repeat what was sent before; no new decisions are made
 * for them.
 */
export type Purpose = 'generate' | 'count' | 'compact';

/** The author of a message. `other`: instructions and messages that are not understood; never changed. */
export type Role = 'user' | 'assistant' | 'tool' | 'other';

/**
 * The kind of a text. `result`: the answer to a tool call. `words`: a user's text, with files in it. `document`: a
 * whole file. `said`: the model's text. `other`: never changed.
 */
export type TextUse = 'result' | 'words' | 'document' | 'said' | 'thought' | 'other';

/** A text of a message: one JSON string of the body. */
export interface ScannedText {
  /** The JSON string, quotes included. */
  readonly literal: Span;
  readonly use: TextUse;
  /** Of a result: the id of the call that it answers; otherwise `''`. */
  readonly callId: string;
  /**
   * Of a result: the name of its tool, if the message contains it; of a document: its title or path; otherwise `''`.
   */
  readonly name: string;
}

/** A call of a tool that the model made; `args` is the range of its arguments: a JSON string, or any JSON value. */
export interface ScannedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Span | null;
}

/**
 * One message (or item); ranges point into the body. A message may contain results of several calls, and words around
 * them.
 */
export interface ScannedMessage {
  readonly span: Span;
  /** An `assistant` message after a result shows that the model has read the result as it was sent. */
  readonly role: Role;
  readonly texts: readonly ScannedText[];
  readonly calls: readonly ScannedCall[];
  /** Part of the message is ambiguous. The message is read, but never changed. */
  readonly opaque: boolean;
  /** The message is reasoning of the model, or names an item that may be. */
  readonly reasoning?: boolean;
}

/** The fields outside the messages. */
export interface RequestHead {
  readonly model: string;
  readonly stream: boolean;
  /** Id of the stored answer that the messages continue, if the provider keeps the history; otherwise `''`. */
  readonly previous: string;
  /** The provider keeps the history in a thread, or is asked to. */
  readonly thread: boolean;
  /** A field outside the messages shows that the model's reasoning is part of the conversation. */
  readonly reasoning: boolean;
  /** The client itself asks the provider to clear parts of the history. */
  readonly managesContext?: boolean;
  /**
   * Positions of the fields outside the messages that determine which tools the model may call: tools and instructions.
   */
  readonly outside: readonly Span[];
}

export interface ScannedBody extends RequestHead {
  readonly messages: readonly ScannedMessage[];
  /** The fields before the first message, for a scan that resumes after it. */
  readonly before: RequestHead;
}

/**
 * A point from which a scan may continue: after a message that, like everything before it, is known from an earlier
 * body.
 */
export interface Resume {
  /** Offset of the byte after the last of `messages`. */
  readonly at: number;
  readonly before: RequestHead;
  readonly messages: readonly ScannedMessage[];
}

/** The provider's own count of tokens, as far as it reports one. */
export interface ProviderUsage {
  /** All input tokens, cached ones included. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Tokens of hidden reasoning, included in the completion; absent if the provider does not report them. */
  readonly reasoningTokens?: number | null;
  /** Input tokens that were read from a cache. */
  readonly cachedTokens: number | null;
  /** Input tokens that were written to a cache; absent if the provider does not report them. */
  readonly cacheWriteTokens?: number | null;
  /** Those written with the longer of two lifetimes (1 h, 12 h); absent if the provider does not report them. */
  readonly cacheWrite1hTokens?: number | null;
  /** Tokens of further model calls within the request, such as a compaction: billed, and in no other figure. */
  readonly besides?: BilledTokens;
}

/** The tokens of a model call, by price. `input` includes all others but `output`; `written1h` is part of `written`. */
export interface BilledTokens {
  readonly input: number;
  readonly output: number;
  readonly read: number;
  readonly written: number;
  readonly written1h: number;
}

/** `unknown`: no event has arrived, or the answer is not streamed and incomplete. `error`: the first event is an error. */
export type AnswerStart = 'unknown' | 'answer' | 'error';

/** What an answer reported. */
export interface Answer {
  /** `null` if it reports none. */
  readonly usage: ProviderUsage | null;
  /** The model as the answer names it; `null` if it does not. */
  readonly model: string | null;
  /** An error inside the answer, whatever its HTTP status; `null` if there is none. */
  readonly error: AnswerError | null;
  readonly turn: AnswerTurn;
  readonly reports: ProviderReports;
  /** Size of the model's words and arguments in the answer, in bytes of JSON, to estimate output that is not reported. */
  readonly textBytes: number;
}

/**
 * The kind of an error; the provider's own words may contain a text. `refused`: the provider rejects the content of the
 * request. `limited`: too many requests. `failed`: anything else.
 */
export type AnswerError = 'refused' | 'overloaded' | 'limited' | 'failed';

/** What a provider reports about the request. */
export interface ProviderReports {
  /**
   * Number of the model's earlier blocks that the provider dropped, or would have, because the history before them was
   * changed: `prefix_binding_mismatch` on messages, `prefix_mismatch` on responses.
   */
  readonly prefixMismatches: number;
  /** Input tokens that the provider cleared because the request asked for it. */
  readonly clearedTokens: number;
}

/** The model's turn. */
export interface AnswerTurn {
  /** The id by which later requests may refer to it; `''` if there is none. */
  readonly id: string;
  /** Its items in the order in which a client sends them back, on wires on which the provider keeps them. */
  readonly items: readonly AnswerItem[];
  /** How often it calls each tool, by its declared name. */
  readonly calls: ReadonlyMap<string, number>;
}

/** An item of an answer: words of the model, or calls. A call that has two ids is listed once for each. */
export interface AnswerItem {
  readonly said: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[];
}
