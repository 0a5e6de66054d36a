import type { ErrorRow } from '../../error-rows/error-row.ts';

/** Failures of requests that must name a key, and of users whom an authenticating proxy vouches for. */
export const errorsOfKeys = {
  key_missing: {
    rpc: null,
    http: 401,
    about: 'this server asks for a key of its own, and none was sent',
    hint: 'Send x-mcp-pruner-key: <key>, or put /k/<key> before /v1 in the base URL; mcp-pruner keys create makes one.',
  },
  key_unknown: {
    rpc: null,
    http: 401,
    about: 'the key is none of this server',
    hint: 'This is no key of this server: check that all of it was copied; mcp-pruner keys create makes another.',
  },
  key_expired: {
    rpc: null,
    http: 401,
    about: 'the time of the key is over',
    hint: 'The time of this key is over: ask for another (mcp-pruner keys create).',
  },
  key_revoked: {
    rpc: null,
    http: 401,
    about: 'the key was revoked',
    hint: 'This key was revoked: ask for another (mcp-pruner keys create).',
  },
  key_misplaced: {
    rpc: null,
    http: 401,
    about: "a key of this server stands where the provider's belongs; nothing was forwarded",
    hint: "A key that begins with mpk_ belongs into x-mcp-pruner-key or the base URL (/k/<key>/v1): Authorization, x-api-key and the query are the provider's.",
  },
  key_project: {
    rpc: null,
    http: 403,
    about: 'the request names a project that its key does not open',
    hint: 'Take x-mcp-pruner-project out, or name a project of this key; mcp-pruner keys list shows them.',
  },
  user_without_project: {
    rpc: null,
    http: 403,
    about: 'the user is signed in, and none of their groups opens a project here',
    hint: 'Ask the administrator to map one of your groups to a project (MCP_PRUNER_GROUP_PROJECTS).',
  },
  keys_unavailable: {
    rpc: null,
    http: 503,
    about: 'keys could not be read since the server was started, so that it lets nobody in',
    hint: 'The store cannot be reached and its keys are not known yet; try again in a moment.',
  },
  key_requests_used_up: {
    rpc: -32014,
    http: 429,
    about: 'the key has used up its requests of this minute; Retry-After says when there are more',
    hint: 'This key has used up its requests of this minute; try again after the time that Retry-After gives.',
  },
  key_tokens_used_up: {
    rpc: null,
    http: 429,
    about: 'the key has used up its tokens of this day (UTC); Retry-After says when there are more',
    hint: 'This key has used up its tokens of this day (UTC); Retry-After says when there are more.',
  },
  key_first_answer_awaited: {
    rpc: null,
    http: 429,
    about:
      'the key has a limit of tokens, and its first request is not answered yet: it is not known what requests come to',
    hint: 'The first request of this key is not answered yet; the others go on once it is. Try again in a moment.',
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
