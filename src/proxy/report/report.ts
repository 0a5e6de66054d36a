import type { FailureReporter } from '../../base/failures.ts';
import { CONNECTION_RUN } from '../../core/event-log.ts';
import type { ColdReports } from '../../core/ports/context-gc.ts';
import type { EndedExchange, OnEnded } from '../../core/ports/guest.ts';
import type { SumGroup } from '../../core/ports/ledger-store.ts';
import type { LedgerSink } from '../../core/ports/request-facts.ts';
import type { Clock, EventRecord, EventSink } from '../../core/ports.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RequestContext } from '../request-context.ts';
import { endedFacts } from './ledger-facts.ts';
import type { NotUnderstood } from './not-understood.ts';
import { type PrefixBreaks, prefixSums } from './prefix-breaks.ts';
import { leftWhole, lineOf, sumsOf, tenths, useSums } from './report-line.ts';
import type { RequestReport } from './request-report.ts';
import type { RunBook } from './run-book.ts';
import type { SavingWatch } from './saving-watch.ts';

export interface ReporterOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: EventSink & { flush(): Promise<void> };
  readonly clock: Clock;
  readonly ledger: LedgerSink;
  readonly shadow: boolean;
  readonly notUnderstood?: NotUnderstood;
  /** Counts changed histories reported by providers. */
  readonly prefixBreaks?: PrefixBreaks;
  /** Records results put aside at cold moments. */
  readonly cold?: Pick<ColdReports, 'answered'> | undefined;
  /** Raises an alarm if savings stop. */
  readonly savings?: Pick<SavingWatch, 'record' | 'unread'>;
  /** Counts requests by agent run. */
  readonly runs?: Pick<RunBook, 'record'>;
  /** Guests that get requests after their answer. */
  readonly ended?: OnEnded;
  readonly onFailure: FailureReporter;
}

/** The finished requests that are not reported yet. */
interface ReportQueue {
  /**
   * Queues a report. Never throws or blocks.
   *
   * @param bytes - memory held by the report until it is made
   */
  report(make: () => RequestReport | Promise<RequestReport>, bytes: number): void;
  /** Reports everything in the queue. Never rejects. */
  drain(): Promise<void>;
}

/** Reports each request as a log line, metrics, ledger figures and events. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #unfinished = new Set<Promise<void>>();
  #queue: ReportQueue | null = null;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /**
   * Reports a frame or a WebSocket that was forwarded unread or refused, outside any request. Never throws.
   *
   * @param about - facts for the log; never a text
   */
  unread(reason: string, about: Readonly<Record<string, string | number | null>> = {}): void {
    const { log, metrics, events, clock, notUnderstood, savings } = this.#options;
    notUnderstood?.count(reason);
    if (LARGE_UNREAD.has(reason)) savings?.unread(reason, clock.nowMs());
    log.info({ reason, ...about }, 'forwarded unread');
    metrics.pruning({ ...NOTHING_PRUNED, fallbacks: [reason] });
    const event = { tsMs: clock.nowMs(), runId: CONNECTION_RUN, opId: null, kind: 'fallback', level: 'warn' } as const;
    events.add([{ ...event, payload: { reason } }]);
  }

  /** Flushes pending reports to the ledger, and writes the events. Never rejects: lost data is logged. */
  async flush(): Promise<void> {
    await this.reported();
    await this.#options.events.flush();
  }

  /** Resolves once all finished requests are in the ledger. Never rejects. */
  async reported(): Promise<void> {
    await this.#queue?.drain();
    await Promise.all(this.#unfinished);
  }

  fedBy(queue: ReportQueue): void {
    this.#queue = queue;
  }

  /** See `ReportQueue.report`. */
  report(...report: Parameters<ReportQueue['report']>): void {
    this.#queue?.report(...report);
  }

  /** Reports a request once its answer has been decoded on another thread. */
  reportLater(report: Promise<RequestReport>, atMs: number): void {
    const reported = report.then(
      (made) => this.reportNow(made, atMs),
      (err: unknown) => this.#options.onFailure('not_reported', err),
    );
    this.#unfinished.add(reported);
    void reported.finally(() => this.#unfinished.delete(reported));
  }

  /**
   * Reports a request at once.
   *
   * @param atMs - when it ended
   */
  reportNow(report: RequestReport, atMs: number): void {
    const { log, metrics, savings } = this.#options;
    const { shadow = this.#options.shadow } = report;
    savings?.record(report, atMs);
    if (report.fallbacks.length > 0)
      for (const reason of new Set(report.fallbacks)) this.#options.notUnderstood?.count(reason);
    const counts = shadow || !report.forwardedOriginal;
    // each cut counts once, in the request in which it was new
    const fresh = report.outcomes.slice(report.newFrom);
    const sums = sumsOf(fresh);
    const saved = counts ? sums.tokensBefore - sums.tokensAfter : 0;
    const level = report.status >= 500 || report.upstreamError ? 'warn' : 'info';
    if (log.isLevelEnabled(level)) {
      const all = sumsOf(report.outcomes);
      const line = lineOf(report, all, counts ? all.tokensBefore - all.tokensAfter : 0, shadow);
      log[level](line, 'model request');
    }
    metrics.request({
      route: report.wire === 'chat' ? 'chat_completions' : report.wire,
      status: report.status,
      model: report.model,
      project: report.facts?.project,
      key: report.facts?.keyId,
      firstByteMs: report.firstByteMs,
      upstreamError: report.upstreamError,
      usage: report.usage ?? undefined,
      pruning: {
        candidates: fresh.length,
        pruned: sums.pruned,
        tokensBefore: sums.tokensBefore,
        tokensAfter: sums.tokensBefore - saved,
        elapsedMs: report.pruneMs,
        fallbacks: report.fallbacks,
      },
    });
    if (report.foreign) return;
    this.#options.runs?.record(report, fresh, shadow);
    if (report.context) this.#options.ended?.(endedOf(report, report.context, atMs));
    const wouldBeAside = this.#noteAnswer(report, atMs);
    const isBroken = this.#options.prefixBreaks?.count(report) ?? null;
    if (report.facts) {
      const facts = endedFacts(report.facts, atMs, report.usage, report.answerTokens);
      const isNamed = isBroken === true && this.#options.prefixBreaks?.isNamed(atMs) === true;
      const measured = wouldBeAside > 0 ? { ...facts, wouldBeAside } : facts;
      this.#options.ledger.request(isNamed ? { ...measured, prefixBroken: true } : measured);
    }
    const figures = useSums(report, fresh, atMs, saved > 0);
    if (isBroken !== null) figures.push(...this.#prefixSums(report, isBroken, atMs));
    this.#options.ledger.count(figures);
    this.#options.events.add(eventsOf(report, atMs, saved, shadow));
  }

  /**
   * Records when a conversation's last answer ended, so that the next request can tell whether its cache is cold.
   *
   * @returns tokens that would have been put aside at this request
   */
  #noteAnswer({ facts, wire, cloud, upstreamError, totalMs }: RequestReport, atMs: number): number {
    const { cold } = this.#options;
    if (!cold || !facts || upstreamError !== null) return 0;
    return cold.answered({ facts, atMs, tookMs: totalMs, wire, cloud });
  }

  /** Reports a changed history that the provider detected. */
  #prefixSums(report: RequestReport, isReported: boolean, atMs: number): SumGroup[] {
    const { metrics, log } = this.#options;
    const { wire, model, requestId, conversationId } = report;
    if (isReported) {
      metrics.prefixBreak({ wire, model });
      log.warn({ requestId, conversationId, model, wire }, 'the provider reports that sent items have changed');
    }
    return prefixSums(report, isReported, atMs);
  }
}

/** Converts a report for guests. */
function endedOf(report: RequestReport, context: RequestContext, atMs: number): EndedExchange {
  const { scope, session, client, keyId, caller, accountId } = context;
  // written out: with spreads, it takes six kilobytes in Node 20
  return {
    requestId: report.requestId,
    project: scope.project,
    session,
    client: scope.agent ?? client,
    keyId,
    caller,
    accountId,
    conversationId: report.conversationId,
    model: report.model,
    cloud: report.cloud,
    status: report.status,
    usage: report.usage,
    isAnswer: report.isAnswer ?? true,
    hourCache: (report.facts?.cacheHourUpTo ?? null) !== null,
    startedMs: Math.trunc(atMs - report.totalMs),
    endedMs: Math.trunc(atMs),
    fields: report.fields ?? [],
    limitEvents: report.limitEvents ?? [],
  };
}

/** Codes of requests outside any wire that are always large. */
const LARGE_UNREAD = new Set(['path_not_understood']);

const NOTHING_PRUNED = { candidates: 0, pruned: 0, tokensBefore: 0, tokensAfter: 0, elapsedMs: 0 };

/**
 * Events of a request: its facts, the outcome of each new text, and failures.
 *
 * @param saved - tokens removed from its new texts; in shadow mode, tokens that would have been removed
 */
export function eventsOf(report: RequestReport, tsMs: number, saved: number, shadow: boolean): EventRecord[] {
  // an unread body has no conversation, so the request is its own run
  const runId = report.conversationId || report.requestId;
  const { requestId: opId, childId = null, project, sender, outcomes, newFrom, status, end } = report;
  const hasLeft = outcomes.length > newFrom || report.small > 0 || report.unexamined !== '';
  const left = hasLeft ? leftWhole(report, outcomes.slice(newFrom)) : null;
  const request = {
    wire: report.wire,
    model: report.model,
    messages: report.messages,
    candidates: outcomes.length - newFrom,
    tokens_saved: saved,
    status,
    end,
    upstream_error: report.upstreamError,
    total_ms: tenths(report.totalMs),
    project: sender?.project,
    client: sender?.client,
    shadow: shadow || undefined,
    left_whole: left !== null && left.size > 0 ? Object.fromEntries(left) : undefined,
  };
  const level = status >= 400 ? 'warn' : 'info';
  const events: EventRecord[] = [{ tsMs, runId, opId, kind: 'request', level, payload: request, childId, project }];
  const regrets = report.facts?.regrets ?? [];
  const isPlain = end === 'answered' && status < 400 && report.upstreamError === null;
  if (isPlain && outcomes.length === newFrom && regrets.length + report.fallbacks.length === 0) return events;
  const add = (kind: string, level: EventRecord['level'], payload: EventRecord['payload']): void => {
    events.push({ tsMs, runId, opId, kind, level, payload, childId, project });
  };
  for (let i = newFrom; i < outcomes.length; i++) {
    const outcome = outcomes[i];
    if (!outcome) continue;
    const { pruneId, whole, tool, kind, lines, keptLines, tokensBefore, tokensAfter } = outcome;
    const before = { tool, lines, tokens_before: tokensBefore, kind, message: outcome.messageIndex };
    add('candidate', 'debug', before);
    const after = { tool, lines, tokens_before: tokensBefore, kept_lines: keptLines, tokens_after: tokensAfter };
    if (pruneId) add('pruned', 'info', { prune_id: pruneId, kind, ...after });
    else add('left_whole', 'debug', { reason: whole, ...after });
  }
  for (const { how, pruneId, recovered } of regrets) {
    if (how === 'recovered') add('recovered', 'info', { prune_id: pruneId, ...recovered });
  }
  for (const reason of report.fallbacks) add('fallback', 'warn', { reason });
  if (end === 'client_gone') add('client_failed', 'warn', { reason: 'gone', status });
  else if (report.upstreamError !== null || status >= 500) {
    add('upstream_failed', 'warn', { reason: report.upstreamError ?? 'status', status });
  } else if (status >= 400) add('client_failed', 'warn', { reason: 'status', status });
  return events;
}
