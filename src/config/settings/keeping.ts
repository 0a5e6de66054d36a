import { oneOf, onOff, optional, share, wholeNumber } from '../rules.ts';
import { DAY_S, GIB, MAX_TIMER_MS, MIB, setting } from './setting.ts';

/** Storage and retention, and the limits of one request. */
export const keepingSettings = {
  pruneIdTtlS: setting({
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 7 * DAY_S,
    unit: 's',
    doc: 'How long an original can be recovered after its marker was last seen in a conversation.',
  }),
  sentTtlS: setting({
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 90 * DAY_S,
    unit: 's',
    doc: 'How long it is known what was sent of a message, after the message was last seen. A session resumed within this time goes on with the very bytes that the provider knows; no text is kept for it.',
  }),
  storeMaxBytes: setting({
    rule: wholeNumber(MIB),
    fallback: GIB,
    unit: 'bytes',
    doc: 'Size above which the store deletes the least recently used originals. While originals arrive faster than they can be compressed or deleted, the file may grow to twice this, at most 256 MiB more, plus 32 MiB of log. Beyond that no new original is accepted, and texts are forwarded unpruned.',
  }),
  storeConversationShare: setting({
    rule: share(),
    fallback: 0.25,
    doc: 'Share of store_max_bytes that the originals of one conversation may take up; beyond it its new texts go unpruned, so that no conversation pushes those of others out.',
  }),
  storeSync: setting({
    rule: oneOf(['normal', 'full']),
    fallback: 'normal',
    doc: 'When a write to the store counts as done. normal outlives a killed process; after a power cut the last seconds may be missing, until the next turn of the conversation stores them again. full waits for the disk at each write and outlives a power cut as well.',
  }),
  recall: setting({
    rule: oneOf(['on', 'off']),
    fallback: 'on',
    doc: 'What recall searches. on keeps every tool result from 1,000 characters on as an original, cut or not; off only those that something was cut from.',
  }),
  conversationTitles: setting({
    rule: onOff(),
    fallback: false,
    doc: 'Keeps the first 60 characters that the user wrote in a conversation, so that the page can list and search conversations by them.',
  }),
  maxEvents: setting({
    rule: wholeNumber(0, 100_000_000),
    fallback: 100_000,
    unit: 'events',
    doc: 'How many of the newest events the store keeps; 0 records none. Events of the audit class do not count.',
  }),
  auditTtlS: setting({
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 365 * DAY_S,
    unit: 's',
    doc: 'How long events of the audit class are kept: keys created, revoked, rotated and refused, sign-ins, erasures, changed settings. Other events never push them out.',
  }),
  ledgerTtlS: setting({
    rule: optional(wholeNumber(1, 100 * 365 * DAY_S)),
    fallback: null,
    fallbackWords: '180 days in a database; in a file the newest 100,000 rows',
    unit: 's',
    doc: 'How long the ledger keeps the row of a request. Its sums by day are kept for ever.',
  }),
  memoMaxBytes: setting({
    rule: wholeNumber(0),
    fallback: 64 * MIB,
    unit: 'bytes',
    doc: 'Memory for decisions that were already made, which makes the next turn of a conversation cheap.',
  }),
  upstreamHeadersTimeoutMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 600_000,
    unit: 'ms',
    doc: 'How long the upstream may take until its answer begins; 0 waits for ever.',
  }),
  upstreamBodyTimeoutMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 300_000,
    unit: 'ms',
    doc: 'How long an answer under way may stand still; a flowing stream has no limit. 0 waits for ever.',
  }),
  drainTimeoutMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 30_000,
    unit: 'ms',
    doc: 'How long requests under way may go on after SIGTERM or Ctrl-C.',
  }),
};
