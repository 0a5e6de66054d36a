import type { ErrorRow } from './error-row.ts';

/** Failures of calls: of JSON-RPC itself, of the tools, of what stands behind them. */
export const errorsOfCalls = {
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
} as const satisfies Readonly<Record<string, ErrorRow>>;
