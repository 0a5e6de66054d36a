import type { Viewer } from 'mcp-pruner/core/ports/projects.ts';

export type KeyRefusal =
  | 'key_missing'
  | 'key_unknown'
  | 'key_expired'
  | 'key_revoked'
  | 'key_project'
  | 'key_misplaced'
  | 'user_without_project'
  | 'keys_unavailable';

export interface Admitted {
  /** Id of a key, or `user:` and the name of a user vouched for by an authenticating proxy. */
  readonly keyId: string;
  readonly viewer: Viewer;
  /** Whether model requests count against a request limit, or also a token limit. */
  readonly limited: 'no' | 'requests' | 'tokens';
}

export interface OverLimit {
  readonly code: 'key_requests_used_up' | 'key_tokens_used_up' | 'key_first_answer_awaited';
  /** Seconds until there is room again, at least 1. */
  readonly retryAfterS: number;
}

/** A counted request, with estimated tokens until its usage is known. */
export interface Counted {
  readonly tokens: number;
  /** Set if it must be the only request in flight, because the typical tokens of its key's requests are unknown. */
  readonly isFirst?: boolean;
}
