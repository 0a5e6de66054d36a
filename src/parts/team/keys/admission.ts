import type { Viewer } from '../../../core/ports/projects.ts';

/** Why a request is refused. */
export type KeyRefusal =
  | 'key_missing'
  | 'key_unknown'
  | 'key_expired'
  | 'key_revoked'
  | 'key_project'
  | 'key_misplaced'
  | 'user_without_project'
  | 'keys_unavailable';

/** A request with a key. */
export interface Admitted {
  /** Id of a key, or `user:` and the name of a user for whom an authenticating proxy vouches. */
  readonly keyId: string;
  readonly viewer: Viewer;
  /** Whether requests to a model count against a limit of requests, or of tokens as well. */
  readonly limited: 'no' | 'requests' | 'tokens';
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
  /** It is the only request in progress, because the tokens of its key's requests are not known yet. */
  readonly isFirst?: boolean;
}
