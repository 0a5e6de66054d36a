import { oneOf, onOff, optional, wholeNumber } from '../rules.ts';
import { DAY_S, GIB, MAX_TIMER_MS, MIB, setting } from './setting.ts';

export const keepingSettings = {
  pruneIdTtlS: setting({
    common: true,
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 7 * DAY_S,
    unit: 's',
    doc: 'How long an original is kept after the last use.',
  }),
  storeMaxBytes: setting({
    common: true,
    rule: wholeNumber(MIB),
    fallback: GIB,
    unit: 'bytes',
    doc: 'Size above which the least recently used originals are deleted. One conversation gets at most a quarter of it; beyond that its new texts pass whole.',
  }),
  newerStore: setting({
    rule: oneOf(['exit', 'raw']),
    fallback: 'exit',
    doc: 'What a server does at its start if a later version has changed the store so that this one cannot use it. raw: forwards all requests whole; a history that was cut before then differs, and providers that check it refuse it.',
  }),
  storeSync: setting({
    rule: oneOf(['normal', 'full']),
    fallback: 'normal',
    doc: 'normal: a power cut may lose the last seconds. full: each write waits for the disk.',
  }),
  recall: setting({
    rule: oneOf(['on', 'off']),
    fallback: 'on',
    doc: 'on: recall searches all tool results of 1,000 characters or more. off: only results that were cut.',
  }),
  conversationTitles: setting({
    common: true,
    rule: onOff(),
    fallback: true,
    doc: "Keeps the first 60 characters of the user's first words as the title of a conversation. Unless set, off where others have access: a host that is not loopback, a shared database, required keys.",
  }),
  maxEvents: setting({
    rule: wholeNumber(0, 100_000_000),
    fallback: 100_000,
    unit: 'events',
    doc: 'Number of newest events to keep, without audit events; 0: none.',
  }),
  auditTtlS: setting({
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 365 * DAY_S,
    unit: 's',
    doc: 'How long audit events are kept: keys, sign-ins, erasures, changed settings.',
  }),
  ledgerTtlS: setting({
    rule: optional(wholeNumber(1, 100 * 365 * DAY_S)),
    fallback: null,
    fallbackWords: '180 days in a database; in a file the newest 100,000 rows',
    unit: 's',
    doc: 'How long the ledger keeps rows of requests. Sums by day are kept for ever.',
  }),
  memoMaxBytes: setting({
    rule: wholeNumber(0),
    fallback: 64 * MIB,
    unit: 'bytes',
    doc: 'Memory for earlier decisions, which makes the next turn of a conversation cheap.',
  }),
  upstreamTimeoutMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 600_000,
    unit: 'ms',
    doc: "Time limit until the upstream's answer begins, and for each pause within it; 0: none.",
  }),
  drainTimeoutMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 30_000,
    unit: 'ms',
    doc: 'How long open requests may continue after SIGTERM or Ctrl-C.',
  }),
};
