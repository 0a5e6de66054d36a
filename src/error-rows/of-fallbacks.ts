/** Why a request was forwarded in another way than planned. The client notices nothing. */
export interface FallbackRow {
  /** What happened, in one clause. */
  readonly about: string;
  /** What it means for the request or the conversation, and what can be done. */
  readonly hint: string;
}

/**
 * The codes in `fallbacks` of a request's log line, in events of kind `fallback` and in the metrics. Failures of the store
 * (`store_<reason>`), refusals (`upstream_refused_<status>`), backends and unreadable bodies add codes of their own.
 */
export const fallbackTable = {
  timeout: {
    about: 'deciding or storing took longer than MCP_PRUNER_TIMEOUT_MS',
    hint: 'Recorded cuts were replayed and new texts went whole. Raise the limit if this happens often.',
  },
  overloaded: {
    about: 'the byte budget for bodies that are pruned at once was spent',
    hint: 'Recorded cuts were replayed and new texts went whole. Give the process a larger heap.',
  },
  body_too_large: {
    about: 'the body is larger than MCP_PRUNER_MAX_BODY_BYTES',
    hint: 'It was streamed through unread.',
  },
  encoding_not_understood: {
    about: 'the Content-Encoding of the body is not known, or the body does not fit it',
    hint: 'It was forwarded as it came.',
  },
  foreign_origin: {
    about: 'a web page of a foreign origin may have sent the request',
    hint: 'It was forwarded unread. MCP_PRUNER_ALLOWED_ORIGINS can list the origin.',
  },
  left_alone: {
    about: 'the provider refused a pruned request of this conversation before',
    hint: 'All of the conversation is forwarded as it comes.',
  },
  past_refused: {
    about: 'the provider refused the unpruned history, which an earlier run must have pruned',
    hint: 'The history was pruned again and the request was sent once more.',
  },
  prefix_binding_mismatch: {
    about: 'the provider dropped thinking blocks that belong to another history',
    hint: 'Look for a change of the history between two requests of the conversation.',
  },
  budget_waits_for_client: {
    about: 'the conversation is over its token budget on a wire whose provider verifies the history',
    hint: "Nothing was set aside; the client's own compaction ends it.",
  },
} satisfies Readonly<Record<string, FallbackRow>>;

export type FallbackCode = keyof typeof fallbackTable;
