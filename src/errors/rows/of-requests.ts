import type { ErrorRow } from './error-row.ts';

export const errorsOfRequests = {
  invalid_json: {
    rpc: null,
    http: 400,
    hint: 'The body must be JSON: {"code": "…", "query": "…"}.',
  },
  unreadable_body: { rpc: null, http: 400, hint: 'The body could not be read.' },
  unauthorized: {
    rpc: null,
    http: 401,
    hint: 'Send Authorization: Bearer <token>, with the token of MCP_PRUNER_AUTH_TOKEN, or of the file local-token next to the store.',
  },
  key_dollars_used_up: {
    rpc: null,
    http: 429,
    hint: 'This key has used up its dollars of this month: ask for a larger budget (mcp-pruner keys set), or wait for the next month.',
  },
  project_dollars_used_up: {
    rpc: null,
    http: 429,
    hint: 'This project has used up its dollars of this month: ask for a larger budget (mcp-pruner projects set), or wait for the next month.',
  },
  first_bill_awaited: {
    rpc: null,
    http: 429,
    about: 'the first request of a key or project with a budget is still being answered',
    hint: 'Send the request again: until it is known what a request costs, requests under a budget go one at a time.',
  },
  cost_not_shown: {
    rpc: null,
    http: 403,
    about:
      'the cost of a batch, a job or a response in the background is not in its answer, and its key or project has a budget',
    hint: 'Send ordinary requests: a budget of dollars admits only requests whose answer shows what they used.',
  },
  forbidden_origin: {
    rpc: null,
    http: 403,
    about: 'a page of an Origin that MCP_PRUNER_ALLOWED_ORIGINS does not list',
    hint: 'Pages of this Origin may not call here; add it to MCP_PRUNER_ALLOWED_ORIGINS to allow it.',
  },
  forbidden_host: {
    rpc: null,
    http: 403,
    about: 'a Host that MCP_PRUNER_ALLOWED_HOSTS does not list',
    hint: 'This Host is not allowed; use 127.0.0.1, or add it to MCP_PRUNER_ALLOWED_HOSTS.',
  },
  page_token_needed: {
    rpc: null,
    http: 403,
    about: "an action lacks the page's token",
    hint: 'Load the page again. Only the page can use its actions; programs use /rpc.',
  },
  not_found: {
    rpc: null,
    http: 404,
    hint: 'This server has /v1/*, POST /rpc, POST /prune, GET /health and GET /metrics.',
  },
  method_not_allowed: {
    rpc: null,
    http: 405,
    hint: 'This endpoint takes POST only.',
  },
  body_too_large: {
    rpc: -32600,
    http: 413,
    about: 'the body exceeds the limit',
    hint: 'The message names the limit in bytes; send less, or raise MCP_PRUNER_MAX_INPUT_CHARS.',
  },
  body_too_complex: {
    rpc: null,
    http: 413,
    about: 'the JSON has too many values or levels; it was not parsed',
    hint: 'The message names the limit; send less at a time.',
  },
  unsupported_encoding: {
    rpc: -32600,
    http: 415,
    hint: 'Content-Encoding must be gzip, deflate, br or identity.',
  },
  dot_segments: {
    rpc: null,
    http: 400,
    about: 'the path has segments . or .. in some spelling',
    hint: 'Send the path without the segments . and .. in any spelling.',
  },
  upstream_not_set: {
    rpc: null,
    http: 404,
    about: 'the address of this cloud is not set and cannot be derived',
    hint: 'Set the variable that the message names to the address of the provider.',
  },
  upgrade_refused: {
    rpc: null,
    http: 426,
    about: 'a WebSocket on another path than /v1/responses',
    hint: 'WebSocket is offered at /v1/responses alone; send the request by POST.',
  },
  loop_detected: {
    rpc: null,
    http: 508,
    about: 'MCP_PRUNER_UPSTREAM_URL leads back to this proxy',
    hint: 'Set MCP_PRUNER_UPSTREAM_URL to the address of the model: now it leads back to this proxy.',
  },
  upstream_unreachable: {
    rpc: null,
    http: 502,
    about: 'the provider cannot be reached',
    hint: 'Check MCP_PRUNER_UPSTREAM_URL and the network, then try again.',
  },
  restart_needed: {
    rpc: null,
    http: 503,
    about: 'a part could not be loaded; requests to models still work',
    hint: 'Restart mcp-pruner: a part of it could not be loaded, the log says why. Requests to models still work.',
  },
  server_busy: {
    rpc: null,
    http: 503,
    about: 'a request under a budget found no room in memory, or it was not known for a moment how a history was sent',
    hint: 'Send the request again in a few seconds. If this happens often, give the process more memory.',
  },
  shutting_down: {
    rpc: null,
    http: 503,
    hint: 'The proxy is stopping; try again in a moment.',
  },
  upstream_timeout: {
    rpc: null,
    http: 504,
    about: 'the provider did not answer in time',
    hint: 'Raise MCP_PRUNER_UPSTREAM_TIMEOUT_MS if it needs longer.',
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
