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
    hint: 'WebSocket is not offered here; send the request by POST.',
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
