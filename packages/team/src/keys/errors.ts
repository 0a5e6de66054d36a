import type { CodedRow } from 'mcp-pruner/errors/errors.ts';
import type { ErrorRow } from 'mcp-pruner/errors/rows/error-row.ts';

/** Failures of requests that require a key, and of users vouched for by an authenticating proxy. */
export const errorsOfKeys = {
  key_missing: {
    rpc: null,
    http: 401,
    hint: 'Send x-mcp-pruner-key: <key>, or put /k/<key> before /v1 in the base URL; mcp-pruner keys create makes one.',
  },
  key_unknown: {
    rpc: null,
    http: 401,
    hint: 'This is not a key of this server: check that it was copied completely; mcp-pruner keys create makes another.',
  },
  key_expired: {
    rpc: null,
    http: 401,
    hint: 'This key has expired: ask for another (mcp-pruner keys create).',
  },
  key_revoked: {
    rpc: null,
    http: 401,
    hint: 'This key was revoked: ask for another (mcp-pruner keys create).',
  },
  key_misplaced: {
    rpc: null,
    http: 401,
    about: 'a key in Authorization, x-api-key or the query, which belong to the provider',
    hint: 'A key that begins with mpk_ goes into x-mcp-pruner-key or the base URL (/k/<key>/v1). Authorization, x-api-key and the query belong to the provider.',
  },
  key_project: {
    rpc: null,
    http: 403,
    about: 'x-mcp-pruner-project names a project that the key does not open',
    hint: 'Remove x-mcp-pruner-project, or name a project of this key; mcp-pruner keys list shows them.',
  },
  user_without_project: {
    rpc: null,
    http: 403,
    about: 'no group of the signed-in user opens a project',
    hint: 'Ask the administrator to map one of your groups to a project (groups of MCP_PRUNER_SIGN_IN).',
  },
  keys_unavailable: {
    rpc: null,
    http: 503,
    hint: 'The store cannot be reached and its keys are not known yet; try again in a moment.',
  },
  key_requests_used_up: {
    rpc: -32014,
    http: 429,
    hint: 'This key has used up its requests of this minute; try again after the time that Retry-After gives.',
  },
  key_tokens_used_up: {
    rpc: null,
    http: 429,
    hint: 'This key has used up its tokens of this day (UTC); try again after the time that Retry-After gives.',
  },
  key_first_answer_awaited: {
    rpc: null,
    http: 429,
    hint: 'The first request of this key is not answered yet; others may follow once it is. Try again in a moment.',
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export function keyError(code: keyof typeof errorsOfKeys): CodedRow {
  return { code, ...errorsOfKeys[code] };
}
