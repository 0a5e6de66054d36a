import type { IncomingHttpHeaders } from 'node:http';
import type { OverBudget } from './budgets.ts';
import type { Viewer } from './projects.ts';

/** Why a request may not come in. */
export type KeyRefusal =
  | 'key_missing'
  | 'key_unknown'
  | 'key_expired'
  | 'key_revoked'
  | 'key_project'
  | 'key_misplaced'
  | 'user_without_project'
  | 'keys_unavailable';

/** A request that came in with a key. */
export interface Admitted {
  /** `user:` and a name, where an authenticating proxy vouches for the user. */
  readonly keyId: string;
  readonly viewer: Viewer;
  /** Requests to a model count against a limit; `tokens`: what they come to as well. */
  readonly limited: 'no' | 'requests' | 'tokens';
}

/** Users whom an authenticating proxy in front of the server has signed in. */
export interface TrustedIdentities {
  /** Headers, in lower case, that nobody else may send: they are taken off every request. */
  readonly headers: readonly string[];
  /**
   * The user that a request names; `null` where it names none, or does not come from an authenticating proxy.
   *
   * @param address - the peer of the connection
   * @param project - the project that the request names, or `''`
   */
  of(address: string, headers: IncomingHttpHeaders, project: string): Admitted | KeyRefusal | null;
}

/** A request that goes beyond a limit of its key. */
export interface OverLimit {
  readonly code: 'key_requests_used_up' | 'key_tokens_used_up' | 'key_first_answer_awaited';
  /** When there is room again, in seconds from now, at least 1. */
  readonly retryAfterS: number;
}

/** A request that was counted, with estimated tokens until its usage is known. */
export interface Counted {
  readonly tokens: number;
  /** It goes alone: what requests of its key come to is not known yet. */
  readonly isFirst?: boolean;
}

/** What the faces ask about keys. None of its promises rejects. */
export interface KeyGate {
  /**
   * @param shown - the text of a key as a client sent it
   * @param project - the project that the request names, or `''`
   */
  admit(shown: string, project: string): Admitted | KeyRefusal | Promise<Admitted | KeyRefusal>;
  /** Who a key is that was admitted before and shown otherwise since (a cookie); `null` once it is void. */
  known(keyId: string): { readonly admitted: Admitted; readonly hash: string } | null;
  /** Calls back whenever keys may have become void. */
  onVoid(listener: () => void): void;
  /**
   * Counts one request before it is forwarded. Where it cannot be counted, it goes on.
   *
   * @param tokens - estimated; 0 for what asks no model
   */
  take(admitted: Admitted, tokens: number): Promise<OverLimit | Counted>;
  /** As `take` for calls that ask no model: they count as requests of the minute, and as no tokens. */
  takeCalls(admitted: Admitted, calls: number): Promise<OverLimit | null>;
  /** Reports the usage of a request. */
  settle(admitted: Admitted, counted: Counted, tokens: number): Promise<void>;
  /** Takes note of a request that was refused. */
  refused(reason: KeyRefusal | OverLimit['code'] | OverBudget['code'], keyId: string | null): void;
}
