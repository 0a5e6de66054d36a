import type { ProviderUsage } from '../../wires/dialects/dialect.ts';

/** A newly received model request, as passed to observers of answers. */
export interface BegunRequest {
  readonly requestId: string;
  readonly project: string;
  /** The client's session id, or `''`. */
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
  /** Status code sent to the client. */
  readonly status: number;
  readonly usage: ProviderUsage | null;
  /** Whether the client requested a model answer, not a token count. */
  readonly isAnswer: boolean;
  /** Whether the client requested a cache lifetime of an hour or more. */
  readonly hourCache: boolean;
}

/** Observes the answer to one request. Methods never throw or block, and must not retain the header list or a frame. */
export interface WatchedAnswer {
  /** Response head as sent to the client. @param fields - name, value, name, value, … */
  head(status: number, fields: readonly string[]): void;
  /** A `codex.rate_limits` event of a WebSocket. */
  limits(frame: Buffer): void;
  /** The last byte of the answer was forwarded, or the exchange failed. */
  over(): void;
  /** The request was reported, at `atMs`. */
  ended(request: EndedRequest, atMs: number): void;
}

/**
 * Observes the heads and ends of all answers, whether requests were parsed or only passed through. Requests from
 * foreign web pages are excluded.
 */
export interface AnswerWatch {
  begin(request: BegunRequest): WatchedAnswer;
}
