import type { ProviderUsage } from '../../wires/dialects/dialect.ts';

/** A request to a model that has just arrived, as an observer of answers needs it. */
export interface BegunRequest {
  readonly requestId: string;
  readonly project: string;
  /** The client's own id of its session, or `''`. */
  readonly session: string;
  /** Product name of the user agent. */
  readonly client: string;
  /** Id of the access key; absent without keys. */
  readonly keyId?: string | undefined;
  /** Hash of the request's provider keys. */
  readonly caller: string;
  /** The provider's id of the account, if the client names it in a header; otherwise `''`. */
  readonly accountId: string;
}

/** How a watched request ended. */
export interface EndedRequest {
  readonly conversationId: string;
  readonly model: string;
  readonly cloud?: string | undefined;
  /** Status sent to the client. */
  readonly status: number;
  readonly usage: ProviderUsage | null;
  /** Whether the client asked for an answer of the model, not for a count. */
  readonly isAnswer: boolean;
  /** Whether it asked for a cache lifetime of an hour or more. */
  readonly hourCache: boolean;
}

/** Observes the answer of one request. No method throws or blocks; none keeps the header list or a frame. */
export interface WatchedAnswer {
  /** The head of the answer that the client receives. @param fields - name, value, name, value, … */
  head(status: number, fields: readonly string[]): void;
  /** A `codex.rate_limits` event of a WebSocket. */
  limits(frame: Buffer): void;
  /** The last byte of the answer was passed on, or the exchange failed. */
  over(): void;
  /** The request is reported, at `atMs`. */
  ended(request: EndedRequest, atMs: number): void;
}

/**
 * Observes the heads and ends of all answers, whether the requests were read or only passed on. Pages of another origin
 * are left out.
 */
export interface AnswerWatch {
  begin(request: BegunRequest): WatchedAnswer;
}
