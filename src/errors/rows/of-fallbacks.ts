/** Why a request was forwarded differently than planned, unnoticed by the client. */
export interface FallbackRow {
  readonly about: string;
  readonly hint: string;
}

/**
 * The codes in `fallbacks` of a request's log line, in events of kind `fallback` and in the metrics. Further codes come
 * from store failures (`store_<reason>`), refusals (`upstream_refused_<status>`), backends and unreadable bodies.
 */
export const fallbackTable = {
  timeout: {
    about: 'deciding or storing exceeded the limits of MCP_PRUNER_TIMEOUT_MS',
    hint: 'Recorded cuts were replayed and new texts passed whole. The machine is far too busy, or the limit too low.',
  },
  overloaded: {
    about: 'the byte budget for bodies under rewriting was spent for a minute',
    hint: 'Recorded cuts were replayed and new texts passed whole. Give the process a larger heap.',
  },
  body_too_large: {
    about: 'the body exceeds MCP_PRUNER_MAX_BODY_BYTES',
    hint: 'It was streamed through unread.',
  },
  encoding_not_understood: {
    about: 'unknown or wrong Content-Encoding',
    hint: 'The body was forwarded unchanged.',
  },
  summary_refused: {
    about: 'the provider refused a request with its own summary of finished work',
    hint: 'The whole request was sent once instead. If it was the first one with this summary, the summary is given up.',
  },
  foreign_origin: {
    about: 'a foreign web page may have sent the request',
    hint: 'It was forwarded unread. MCP_PRUNER_ALLOWED_ORIGINS can list the origin.',
  },
  asked_to_retry: {
    about: 'a lock, a time-out or a lack of memory hid how the history was sent, on a wire whose provider checks it',
    hint: 'It was answered with 503 and Retry-After, for at most 45 seconds a conversation. Look for what locks the store.',
  },
  history_raw: {
    about: 'it was still not known how the history was sent, on a wire whose provider checks it',
    hint: 'It was forwarded whole, which a provider may refuse if it was cut before. Look for what keeps the store away.',
  },
  left_alone: {
    about: 'the provider refused an earlier pruned request of this conversation',
    hint: 'The whole conversation is forwarded unchanged.',
  },
  past_refused: {
    about: 'the provider refused the unpruned history, so an earlier run must have pruned it',
    hint: 'The history was pruned again and the request was resent once.',
  },
  prefix_binding_mismatch: {
    about: 'the provider dropped thinking blocks that belong to another history',
    hint: 'Look for a change of the history between two requests of the conversation.',
  },
  marker_written: {
    about: 'the model wrote a marker of a cut into a file',
    hint: 'The call was not blocked. The lines behind the marker are missing in that file: recover them with the id in the marker.',
  },
  answer_not_read: {
    about: 'the answer was compressed in an unknown way, decodes to far more than its size, or found no memory',
    hint: 'The client got it unchanged. If its usage was not read, the request is billed by its size.',
  },
  odd_usage: {
    about: 'the provider reported more tokens than any model can read or write',
    hint: 'The count was ignored, and the request billed by its size.',
  },
  budget_waits_for_client: {
    about: 'over the token budget, on a wire whose provider checks the history',
    hint: "Nothing was stashed; the client's own compaction helps.",
  },
} satisfies Readonly<Record<string, FallbackRow>>;

export type FallbackCode = keyof typeof fallbackTable;
