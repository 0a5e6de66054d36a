import type { ErrorRow } from './error-row.ts';

export const errorsOfCalls = {
  parse_error: {
    rpc: -32700,
    http: 400,
    hint: 'Send one JSON object, or an array of them, in UTF-8.',
  },
  invalid_request: {
    rpc: -32600,
    http: 422,
    hint: 'Correct the field that the message names.',
  },
  method_not_found: {
    rpc: -32601,
    http: null,
    about: 'unknown method, or its feature is off',
    hint: 'The message names the flag that switches it on. Call tools by tools/call.',
  },
  invalid_params: {
    rpc: -32602,
    http: null,
    about: 'invalid arguments, or unknown tool',
    hint: 'data.issues names each field and what is expected.',
  },
  internal_error: {
    rpc: -32603,
    http: 500,
    hint: 'Try again. If the error persists, report it with the lines of the log.',
  },
  resource_not_found: {
    rpc: -32002,
    http: null,
    hint: 'There is no such resource. It may have expired long ago. resources_list shows what there is.',
  },
  prune_id_not_found: {
    rpc: -32004,
    http: null,
    about: 'the prune id is unknown or expired',
    hint: 'Do not repeat the call: read the file or run the command again.',
  },
  invalid_range: {
    rpc: -32005,
    http: null,
    about: 'invalid line ranges',
    hint: 'Lines count from 1, start_line must not exceed end_line. Ask for each line once.',
  },
  recovery_unavailable: {
    rpc: -32006,
    http: null,
    about: 'originals cannot be read or stored now',
    hint: 'Send the texts as they are, or read the source again; try again later.',
  },
  resource_wrong_kind: {
    rpc: -32007,
    http: null,
    about: 'the call does not fit this kind of resource',
    hint: 'data.kind is the kind that the URI names.',
  },
  resource_expired: {
    rpc: -32008,
    http: null,
    hint: 'The original has expired. Read the file or run the command again.',
  },
  store_unavailable: {
    rpc: -32009,
    http: null,
    about: 'the store is locked, full, gone or broken (data.reason)',
    hint: 'The store cannot be used now; nothing was changed. Try again later.',
  },
  idempotency_conflict: {
    rpc: -32010,
    http: null,
    hint: 'This idempotency_key was used with other arguments. Repeat those, or choose another key.',
  },
  batch_too_large: {
    rpc: -32011,
    http: null,
    about: 'the batch exceeds the size of one answer; this call was not run',
    hint: 'Send this call again by itself, or in a smaller batch.',
  },
  answers_not_read: {
    rpc: -32012,
    http: null,
    about: 'too many answers to this client are unread; the call ran, its answer was dropped',
    hint: 'Repeat the call in a moment, and read answers as they come.',
  },
  too_many_uploads: {
    rpc: -32013,
    http: 503,
    about: 'the memory for incoming bodies is in use; this one was not read',
    hint: 'Send it again when other uploads have finished.',
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
