/** One failure that a client can see. */
export interface ErrorRow {
  /** JSON-RPC number, or `null` where it cannot be the answer to a call. */
  readonly rpc: number | null;
  /** HTTP status, or `null` where the answer is JSON-RPC, which is a 200 whatever it says. */
  readonly http: number | null;
  /** What happened, in one clause. */
  readonly about: string;
  /** What to do. Goes with the error as `data.hint` or `error.message`, unless the place that throws knows better. */
  readonly hint: string;
}

/** Every failure that a client can see, once: `docs/errors.md` is printed from here. Public: add rows, never renumber. */
export const errorTable = {
  parse_error: {
    rpc: -32700,
    http: 400,
    about: 'the message is not JSON in UTF-8',
    hint: 'Send one JSON object, or an array of them, in UTF-8.',
  },
  invalid_request: {
    rpc: -32600,
    http: 422,
    about: 'the message is JSON, but no request',
    hint: 'Correct the field that the message names.',
  },
  method_not_found: {
    rpc: -32601,
    http: null,
    about: 'there is no such method, or what it belongs to is switched off',
    hint: 'The message names the flag that switches it on; tools are called by tools/call.',
  },
  invalid_params: {
    rpc: -32602,
    http: null,
    about: 'parameters do not fit, or there is no such tool',
    hint: 'data.issues names each field and what is expected of it.',
  },
  internal_error: {
    rpc: -32603,
    http: 500,
    about: 'a fault of this program; the log has it',
    hint: 'Try again; report it with the lines of the log when it stays.',
  },
  resource_not_found: {
    rpc: -32002,
    http: null,
    about: 'there is no resource of this URI',
    hint: 'There is no such resource, or it is gone for long. resources_list shows what there is.',
  },
  prune_id_not_found: {
    rpc: -32004,
    http: null,
    about: 'the prune id is unknown or has expired',
    hint: 'Do not repeat the call: read the file or run the command again.',
  },
  invalid_range: {
    rpc: -32005,
    http: null,
    about: 'the ranges make no sense for this text',
    hint: 'Lines count from 1, start_line must not exceed end_line, and each line is asked for once.',
  },
  recovery_unavailable: {
    rpc: -32006,
    http: null,
    about: 'originals cannot be read or kept now',
    hint: 'Send the texts as they are, or read the source again; try again later.',
  },
  resource_wrong_kind: {
    rpc: -32007,
    http: null,
    about: 'the resource is of a kind that this call is not for',
    hint: 'data.kind is the kind that the URI names.',
  },
  resource_expired: {
    rpc: -32008,
    http: null,
    about: 'the resource was kept for its time and has expired',
    hint: 'The original was kept for its time and has expired. Read the file or run the command again.',
  },
  store_unavailable: {
    rpc: -32009,
    http: null,
    about: 'the store cannot serve now: locked, full, gone or broken (data.reason)',
    hint: 'The store cannot be used now; nothing was changed. Try again later.',
  },
  idempotency_conflict: {
    rpc: -32010,
    http: null,
    about: 'the idempotency_key was used with other arguments',
    hint: 'This idempotency_key was used with other arguments. Repeat those, or choose another key.',
  },
  batch_too_large: {
    rpc: -32011,
    http: null,
    about: 'the batch asks for more than one answer can hold; this call of it was not run',
    hint: 'Send this call again by itself, or in a smaller batch.',
  },
  answers_not_read: {
    rpc: -32012,
    http: null,
    about: 'too much of what was answered to other calls has not been read yet; the call ran, its answer was let go',
    hint: 'Repeat the call in a moment, and read answers as they come.',
  },
  too_many_uploads: {
    rpc: -32013,
    http: 503,
    about: 'the bodies that are being received take up all the room there is for them; this one was not read',
    hint: 'Send it again once others are through.',
  },
  'E-CHILD-NOT-FOUND': {
    rpc: -32020,
    http: null,
    about: 'there is no child of this id',
    hint: 'child_list shows the children there are.',
  },
  'E-CHILD-EXISTS': {
    rpc: -32021,
    http: null,
    about: 'there is a child of this id already',
    hint: 'Choose another child_id, or remove the ended one with child_gc.',
  },
  'E-CHILD-STATE': {
    rpc: -32022,
    http: null,
    about: 'the child is in a state in which this cannot be done',
    hint: 'data.state is its state; child_status waits for its end, child_cancel ends it.',
  },
  'E-CHILD-LIMIT': {
    rpc: -32023,
    http: null,
    about: 'more children, or a larger limit, than the configuration allows',
    hint: 'data.allowed is what is allowed; end a child, or ask for less.',
  },
  'E-CHILD-COMMAND': {
    rpc: -32024,
    http: null,
    about: 'the command may not be started',
    hint: 'Name a wired agent, or an absolute path that MCP_PRUNER_CHILD_COMMANDS lists.',
  },
  'E-CHILD-MANIFEST': {
    rpc: -32025,
    http: null,
    about: 'the manifest file cannot be read or is not valid',
    hint: 'data.reason says why; the file is strict JSON inside a folder of MCP_PRUNER_CHILD_ROOTS.',
  },
  'E-CHILD-START': {
    rpc: -32026,
    http: null,
    about: 'the process could not be started',
    hint: 'data.reason says why.',
  },
  'E-GRAPH-NOT-FOUND': {
    rpc: -32030,
    http: null,
    about: 'there is no graph, or no version of it, of this name',
    hint: 'graph_mutate, or expected_version 0, makes a graph; resources_list shows those there are.',
  },
  'E-GRAPH-VERSION-CONFLICT': {
    rpc: -32031,
    http: null,
    about: 'the graph has another version than the call was made for',
    hint: 'Read the graph again (data.found is its version) and repeat the call for that.',
  },
  'E-GRAPH-MUTATION-LOCKED': {
    rpc: -32032,
    http: null,
    about: 'another holder has locked the graph',
    hint: 'Wait for data.expires_at or for graph_unlock, or name the holder as owner.',
  },
  'E-GRAPH-LOCK-HELD': {
    rpc: -32033,
    http: null,
    about: 'another holder has the lock',
    hint: 'Wait until data.expires_at, then ask again.',
  },
  'E-GRAPH-LOCK-NOT-FOUND': {
    rpc: -32034,
    http: null,
    about: 'there is no lock of this id',
    hint: 'It was freed, or expired more than a day ago: take a new one with graph_lock.',
  },
  'E-GRAPH-INVARIANT': {
    rpc: -32035,
    http: null,
    about: 'the change breaks a rule that the graph set for itself',
    hint: 'data.violations names each; nothing was changed.',
  },
  'E-GRAPH-OPERATION': {
    rpc: -32036,
    http: null,
    about: 'an operation cannot be applied to the graph',
    hint: 'data.index is the operation and data.reason why; nothing was changed.',
  },
  'E-GRAPH-PATCH': {
    rpc: -32037,
    http: null,
    about: 'the patch cannot be applied to the graph',
    hint: 'data.index and data.path name the operation and data.reason why; nothing was changed.',
  },
  'E-TX-NOT-FOUND': {
    rpc: -32038,
    http: null,
    about: 'there is no open transaction of this id',
    hint: 'It was committed or rolled back: begin another with tx_begin.',
  },
  'E-TX-EXPIRED': {
    rpc: -32039,
    http: null,
    about: 'the time of the transaction is over',
    hint: 'Nothing of it was committed: begin another with tx_begin.',
  },
  'E-BB-NOTFOUND': {
    rpc: -32045,
    http: null,
    about: 'the blackboard has nothing at this key',
    hint: 'It was never set, was deleted or has expired; bb_query shows what there is.',
  },
  'E-BB-VALUE': {
    rpc: -32046,
    http: null,
    about: 'the blackboard cannot keep a value',
    hint: 'data.reason says why; nothing of the call was kept.',
  },
  'E-STIG-TYPE': {
    rpc: -32047,
    http: null,
    about: 'the type of a pheromone is blank',
    hint: 'Name a type, such as busy or done.',
  },
  'E-BT-INVALID': {
    rpc: -32050,
    http: null,
    about: 'the tree cannot be run',
    hint: 'data.problems names each problem; plan_dry_run checks a tree without running it.',
  },
  'E-BT-RUN-TIMEOUT': {
    rpc: -32051,
    http: null,
    about: 'the run took longer than timeout_ms',
    hint: 'What it had started was ended; run it with background, or give it more time.',
  },
  'E-PLAN-NOT-FOUND': {
    rpc: -32052,
    http: null,
    about: 'there is no run of this id',
    hint: 'The id is the run_id of the answer that began it; old runs are forgotten.',
  },
  'E-PLAN-STATE': {
    rpc: -32053,
    http: null,
    about: 'the run is in a state in which this cannot be done',
    hint: 'data.state is its state; plan_status tells more.',
  },
  'E-PLAN-CANCELLED': {
    rpc: -32054,
    http: null,
    about: 'the run was cancelled',
    hint: 'Whoever cancelled it meant to; run it again if it is still wanted.',
  },
  'E-CNP-NO-BIDS': {
    rpc: -32055,
    http: null,
    about: 'nobody bids for the task',
    hint: 'Start a child, or give manual_bids.',
  },
  'E-CNP-NOT-FOUND': {
    rpc: -32056,
    http: null,
    about: 'there is no contract of this call_id',
    hint: 'The call_id is in the answer of cnp_announce.',
  },
  'E-FLEET-BOUND': {
    rpc: -32060,
    http: null,
    about: 'there is no room for more',
    hint: 'data.bound says which bound; remove what is no longer needed.',
  },
  'E-FLEET-RATE': {
    rpc: -32061,
    http: null,
    about: 'too many starts in a short time',
    hint: 'Wait data.retry_after_ms, then ask again.',
  },
  child_unknown: {
    rpc: null,
    http: 403,
    about: 'no child of this server has the token of the address',
    hint: 'The token is not one of a child of this server.',
  },
  child_ended: {
    rpc: null,
    http: 403,
    about: 'the child of the token has ended',
    hint: 'The child of this token has ended; its address ended with it.',
  },
  child_limit_exceeded: {
    rpc: null,
    http: 403,
    about: 'a limit of the child is used up; the code names which',
    hint: 'This agent has used up a limit that it was started with; it must end now.',
  },
  invalid_json: {
    rpc: null,
    http: 400,
    about: 'the body of POST /prune is not JSON',
    hint: 'The body must be JSON: {"code": "…", "query": "…"}.',
  },
  unreadable_body: { rpc: null, http: 400, about: 'the body broke off', hint: 'The body could not be read.' },
  unauthorized: {
    rpc: null,
    http: 401,
    about: 'a token is required, and none or another one was sent',
    hint: 'Send Authorization: Bearer <token>, with the token of MCP_PRUNER_AUTH_TOKEN, or of the file local-token beside the store.',
  },
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
  keys_unavailable: {
    rpc: null,
    http: 503,
    about: 'keys could not be read since the server was started, so that it lets nobody in',
    hint: 'The store cannot be reached and its keys are not known yet; try again in a moment.',
  },
  key_requests_used_up: {
    rpc: null,
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
  forbidden_origin: {
    rpc: null,
    http: 403,
    about: 'a web page of a foreign origin called',
    hint: 'Pages of this Origin may not call here; MCP_PRUNER_ALLOWED_ORIGINS can list one.',
  },
  forbidden_host: {
    rpc: null,
    http: 403,
    about: 'the Host of the request is not one of this server',
    hint: 'This Host is not allowed; use 127.0.0.1, or add it to MCP_PRUNER_ALLOWED_HOSTS.',
  },
  page_token_needed: {
    rpc: null,
    http: 403,
    about: 'something of the page was to be done, without the proof that the page asks for it',
    hint: 'Load the page again; its actions are for the page alone, and programs have /rpc.',
  },
  not_found: {
    rpc: null,
    http: 404,
    about: 'nothing is served at this path',
    hint: 'This server has /v1/*, POST /rpc, POST /prune, GET /health and GET /metrics.',
  },
  method_not_allowed: {
    rpc: null,
    http: 405,
    about: 'the path takes another method',
    hint: 'This endpoint takes POST only.',
  },
  body_too_large: {
    rpc: -32600,
    http: 413,
    about: 'the body is larger than the limit',
    hint: 'The message names the limit in bytes; send less, or raise MCP_PRUNER_MAX_INPUT_CHARS.',
  },
  unsupported_encoding: {
    rpc: -32600,
    http: 415,
    about: 'the Content-Encoding is not known',
    hint: 'Content-Encoding must be gzip, deflate, br or identity.',
  },
  upgrade_refused: {
    rpc: null,
    http: 426,
    about: 'a WebSocket was asked for where there is none',
    hint: 'WebSocket is offered at /v1/responses alone; send the request by POST.',
  },
  loop_detected: {
    rpc: null,
    http: 508,
    about: 'the upstream leads back to this proxy',
    hint: 'Set MCP_PRUNER_UPSTREAM_URL to where the model is: it leads back to this proxy.',
  },
  upstream_unreachable: {
    rpc: null,
    http: 502,
    about: 'the model provider cannot be reached',
    hint: 'Check MCP_PRUNER_UPSTREAM_URL and the network, then try again.',
  },
  restart_needed: {
    rpc: null,
    http: 503,
    about: 'a part of the program could not be loaded, and will not be until it is started anew',
    hint: 'Restart mcp-pruner: a part of it could not be loaded, the log says why. Requests to models go on meanwhile.',
  },
  shutting_down: {
    rpc: null,
    http: 503,
    about: 'the server is stopping',
    hint: 'The proxy is stopping; try again in a moment.',
  },
  upstream_timeout: {
    rpc: null,
    http: 504,
    about: 'the model provider did not answer in time',
    hint: 'Raise MCP_PRUNER_UPSTREAM_HEADERS_TIMEOUT_MS if it needs longer.',
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof errorTable;

/** What the table says of a code. */
export function errorRow(code: ErrorCode): ErrorRow {
  return errorTable[code];
}

/** A failure that the caller can act on. Anything else thrown is a bug, and a client hears of `internal_error` only. */
export class PrunerError extends Error {
  override readonly name: string = 'PrunerError';
  readonly code: ErrorCode;
  /** Fields for the client beside the code; a `hint` among them wins over that of the table. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(code, options); // a client reads the code as the message
    this.code = code;
    this.details = details;
  }

  get rpcCode(): number {
    return errorRow(this.code).rpc ?? errorTable.internal_error.rpc;
  }

  /** What a client is told beside number and code: the details, and what to do. */
  get data(): Readonly<Record<string, unknown>> {
    const { code, details } = this;
    return details.hint === undefined ? { code, ...details, hint: errorRow(code).hint } : { code, ...details };
  }
}

/** The store cannot serve now (locked, full, gone, broken). Callers fail open; `reason` is a short constant code. */
export class StoreUnavailable extends PrunerError {
  override readonly name = 'StoreUnavailable';
  /** `locked`, `full`, `readonly`, `corrupt`, `newer_schema`, `closed` or `error`. */
  readonly reason: string;

  /** @param message - one line for a terminal; clients of `/rpc` hear the code and the reason only */
  constructor(reason: string, options?: ErrorOptions, message = `store unavailable: ${reason}`) {
    super('store_unavailable', { reason }, options);
    this.message = message;
    this.reason = reason;
  }
}

/** A failure to be read by whoever sits at the terminal: what was wrong, what is allowed, what to do. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  /** Each a line of its own. */
  readonly problems: readonly string[];
  /** Of the command that it ends: 1 failed, 2 wrong command line or configuration. */
  readonly exitCode: 1 | 2;

  constructor(problem: string | readonly string[], options?: ErrorOptions, exitCode: 1 | 2 = 1) {
    const problems = typeof problem === 'string' ? [problem] : problem;
    super(problems.join('; '), options);
    this.problems = problems;
    this.exitCode = exitCode;
  }
}
