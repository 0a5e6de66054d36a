import type { FailureReporter } from '../../base/failures.ts';
import { type AlarmSettings, alarmOf, alarmWords, mostOf, type SavingAlarm, WATCHED } from '../../core/saving-alarm.ts';
import type { Log } from '../../observe/log.ts';
import type { RequestReport } from './request-report.ts';

interface SavingWatchOptions {
  readonly settings: AlarmSettings;
  readonly log: Pick<Log, 'warn'>;
  /** Tokens removed on a day (`YYYY-MM-DD`), from the ledger. May reject. */
  readonly removedOn: (day: string) => Promise<number>;
  readonly onFailure: FailureReporter;
  /** Number of consecutive large requests without savings that raises the alarm. Default: 50. */
  readonly alarmAfter?: number;
}

const ALARM_AFTER = 50;
/** Share of `alarmAfter` at which the alarm is raised if the previous day had savings. */
const EARLY_ALARM_SHARE = 0.4;
/** A result of this many tokens is large; about 4,000 characters, the minimum size of an examined text. */
const LARGE_TOKENS = 1_000;
/** An unread request of this size counts as large. */
const LARGE_BYTES = 50_000;
/** A conversation of this size counts as long: more than a system prompt with tools. */
const LONG_BYTES = 100_000;
/** By this many messages, a client that does not truncate results would have sent a large one. */
const MANY_MESSAGES = 40;
const MAX_CODES = 100;
const DAY_MS = 86_400_000;
/** Reasons of unread requests, which count only if large. */
const UNREAD = /_not_understood$|^(?:left_alone|signed_by_client|not_signed|body_too_large)$/;

/**
 * Counts consecutive requests with large results but no savings, and raises an alarm at a threshold. The next request
 * with savings clears it. Works on reports of finished requests, never on the request path.
 */
export class SavingWatch {
  readonly #options: SavingWatchOptions;
  readonly #codes = new Map<string, number>();
  #requests = 0;
  #alarm: SavingAlarm | null = null;
  /** Causes already logged on `#day`. */
  #logged = new Set<string>();
  #day = '';
  /** Whether the previous day had savings; `null` until the ledger was queried. */
  #savedBefore: boolean | null = null;

  constructor(options: SavingWatchOptions) {
    this.#options = options;
  }

  /** The active alarm, or `null`. */
  get alarm(): SavingAlarm | null {
    return this.#alarm;
  }

  /** Counts a finished request. */
  record(report: RequestReport, atMs: number): void {
    if (report.foreign || report.status >= 300 || report.end !== 'answered') return;
    const hasSaved = !report.forwardedOriginal && hasCut(report);
    const code = hasSaved ? null : codeOf(report);
    if (hasSaved) this.#saved();
    else if (code !== null) this.unread(code, atMs);
  }

  /** Counts a large body that was forwarded whole, by reason code. */
  unread(code: string, atMs: number): void {
    this.#startDay(new Date(atMs).toISOString().slice(0, 10));
    this.#requests++;
    if (this.#codes.size < MAX_CODES || this.#codes.has(code)) this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    const { alarmAfter = ALARM_AFTER } = this.#options;
    if (this.#requests >= alarmAfter) this.#raise();
    else if (this.#requests >= alarmAfter * EARLY_ALARM_SHARE) this.#raiseIfFallen(atMs);
  }

  #saved(): void {
    this.#requests = 0;
    this.#codes.clear();
    this.#alarm = null;
  }

  #startDay(day: string): void {
    if (day === this.#day) return;
    this.#day = day;
    this.#logged = new Set();
    this.#savedBefore = null;
  }

  #raise(): void {
    this.#alarm = alarmOf({ requests: this.#requests, codes: this.#codes }, this.#options.settings);
    const { cause } = this.#alarm;
    if (this.#logged.has(cause)) return;
    this.#logged.add(cause);
    const { what, advice } = alarmWords(this.#alarm);
    this.#options.log.warn({ reason: 'nothing_saved', ...this.#alarm, advice }, what);
  }

  /** Raises the alarm early if the previous day had savings; the ledger is queried once a day. */
  #raiseIfFallen(atMs: number): void {
    if (this.#savedBefore === true) this.#raise();
    if (this.#savedBefore !== null) return;
    this.#savedBefore = false;
    const { removedOn, onFailure } = this.#options;
    const day = this.#day;
    removedOn(new Date(atMs - DAY_MS).toISOString().slice(0, 10)).then(
      (removed) => {
        if (day === this.#day) this.#savedBefore = removed > 0;
      },
      (cause: unknown) => onFailure('saving_not_compared', cause),
    );
  }
}

/** Reasons of texts that were deliberately left whole, such as a file that may be edited next. */
const ON_PURPOSE = new Set(['file', 'reread', 'named', 'report', 'window', 'short']);
/** Codes in `UNREAD` that occur only for large requests. */
const WAS_LARGE = new Set(['body_too_large', 'left_alone']);

/** Whether any text was cut. A loop, because a long conversation has hundreds of outcomes. */
function hasCut({ outcomes }: RequestReport): boolean {
  for (const { pruneId } of outcomes) if (pruneId !== null) return true;
  return false;
}

/** Why a request saved nothing; `null` if nothing in it was large, or it belongs to the control group. */
function codeOf(report: RequestReport): string | null {
  const { outcomes, newFrom, fallbacks, bytesIn, conversationId, messages, facts } = report;
  if (facts?.arm === 'control') return null;
  const unread = fallbacks.find((code) => UNREAD.test(code));
  const isLarge = bytesIn >= LARGE_BYTES;
  if (unread !== undefined) return isLarge || WAS_LARGE.has(unread) ? unread : null;
  if (conversationId === '') return isLarge ? (fallbacks[0] ?? WATCHED.off) : null;
  if (outcomes.length === 0) return bytesIn >= LONG_BYTES && messages >= MANY_MESSAGES ? WATCHED.noLargeResult : null;
  // texts without a decision have no token count
  const large = outcomes.slice(newFrom).filter(({ tokensBefore, kind }) => tokensBefore >= LARGE_TOKENS || kind === '');
  if (large.length === 0) return null;
  if (large.every(({ tool }) => tool === '')) return WATCHED.noCall;
  const stopped = large.filter(({ whole }) => !ON_PURPOSE.has(whole));
  if (stopped.length === 0) return null;
  // a text was cut, but the request was forwarded unchanged: shadow mode, or the provider refused the cuts
  return mostFrequent(stopped.map(({ whole }) => whole || 'left_alone'));
}

function mostFrequent(codes: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  return mostOf(counts)?.[0] ?? '';
}
