import type { ProviderUsage } from '../../wires/dialects/dialect.ts';

/** Sender of a request, as guests know it. */
export interface Sender {
  readonly requestId: string;
  readonly project: string;
  /** The client's session id, or `''`. */
  readonly session: string;
  /** Product and version of the user agent. */
  readonly client: string;
  /** Id of the access key; absent without keys. */
  readonly keyId?: string | undefined;
  /** Hash of the request's provider keys. */
  readonly caller: string;
  /** The provider's id of the account, if the client names it in a header; otherwise `''`. */
  readonly accountId: string;
}

/** A request that has ended, with its times in epoch milliseconds. Requests from foreign web pages are excluded. */
export interface EndedExchange extends Sender {
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
  readonly startedMs: number;
  readonly endedMs: number;
  /** Fields of the answer that begin with `anthropic-` or `x-`: name, value, name, value, … */
  readonly fields: readonly string[];
  /** The `codex.rate_limits` events of a WebSocket that came with the answer. */
  readonly limitEvents: readonly Buffer[];
}

/** Called for each request after its answer, whether it was parsed or only passed through. Never throws or blocks. */
export type OnEnded = (exchange: EndedExchange) => void;
