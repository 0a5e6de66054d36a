import type { Clock, EventRecord, EventSink, Store, UsageRecord } from '../core/ports.ts';
import type { TextOutcome } from '../core/prefix-memo.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { type ChatReport, savedBy } from './chat.ts';

export interface ReporterOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: Pick<Store, 'addUsage'>;
  readonly events: EventSink & { flush(): Promise<void> };
  readonly clock: Clock;
  readonly shadow: boolean;
}

/** Reports and usage that wait to be told; beyond it the oldest go, never the request. */
const MAX_WAITING = 5_000;
/** Requests are told of together: one after the other finds the code and its data still in the processor's caches. */
const TELL_MS = 25;
const TOLD_AT_ONCE = 64;
const WRITE_MS = 500;
const MAX_LISTED = 50;

/** Tells what happened to each request: one log line, the metrics, the totals and the events. */
export class Reporter {
  readonly #options: ReporterOptions;
  #reports: Told[] = [];
  #usage = new Map<string, UsageRecord>();
  #telling: NodeJS.Timeout | undefined;
  #writeSoon: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Never throws, never waits: it is told a moment later, and written later still, together with others. */
  report(report: ChatReport): void {
    if (this.#reports.length >= MAX_WAITING) this.#reports.shift();
    this.#reports.push({ report, atMs: this.#options.clock.nowMs() });
    this.#telling ??= setTimeout(() => this.#tell(), TELL_MS).unref();
  }

  /** Tells and writes what waits. Never rejects: what cannot be kept is lost, and the log says so. */
  flush(): Promise<void> {
    while (this.#reports.length > 0) this.#tell();
    clearTimeout(this.#telling);
    clearTimeout(this.#writeSoon);
    this.#telling = undefined;
    this.#writeSoon = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #tell(): void {
    for (const told of this.#reports.splice(0, TOLD_AT_ONCE)) this.#tellOne(told);
    this.#telling = this.#reports.length > 0 ? setTimeout(() => this.#tell(), 1).unref() : undefined;
    this.#writeSoon ??= setTimeout(() => void this.flush(), WRITE_MS).unref();
  }

  #tellOne({ report, atMs }: Told): void {
    const { log, metrics, shadow } = this.#options;
    const saved = shadow || !report.forwardedOriginal ? savedBy(report.outcomes) : 0;
    const line = lineOf(report, saved, shadow);
    if (report.status >= 500 || report.upstreamError) log.warn(line, 'chat completion');
    else log.info(line, 'chat completion');
    metrics.request({
      route: 'chat_completions',
      status: report.status,
      model: report.model,
      firstByteMs: report.firstByteMs,
      upstreamError: report.upstreamError,
      pruning: {
        candidates: report.outcomes.length,
        pruned: report.outcomes.filter(({ pruneId }) => pruneId !== null).length,
        tokensBefore: sum(report.outcomes, 'tokensBefore'),
        tokensAfter: sum(report.outcomes, 'tokensBefore') - saved,
        elapsedMs: report.pruneMs,
        fallbacks: report.fallbacks,
      },
    });
    for (const record of usageOf(report, atMs, saved > 0)) this.#count(record);
    this.#options.events.add(eventsOf(report, atMs, shadow));
  }

  /** Adds to the totals that wait: many requests of one model and tool are one row to write. */
  #count(record: UsageRecord): void {
    const key = JSON.stringify([Math.floor(record.atMs / DAY_MS), record.model, record.tool]);
    const waiting = this.#usage.get(key);
    if (!waiting && this.#usage.size >= MAX_WAITING) return;
    this.#usage.set(key, waiting ? addUp(waiting, record) : record);
  }

  async #write(): Promise<void> {
    const { store, log } = this.#options;
    const usage = [...this.#usage.values()];
    this.#usage = new Map();
    try {
      if (usage.length > 0) await store.addUsage(usage);
    } catch (err) {
      log.warn({ err, usage: usage.length }, 'totals could not be written');
    }
    await this.#options.events.flush();
  }
}

interface Told {
  readonly report: ChatReport;
  /** When the request ended. */
  readonly atMs: number;
}

const DAY_MS = 86_400_000;

function addUp(a: UsageRecord, b: UsageRecord): UsageRecord {
  return {
    ...a,
    requests: a.requests + b.requests,
    candidates: a.candidates + b.candidates,
    pruned: a.pruned + b.pruned,
    tokensBefore: a.tokensBefore + b.tokensBefore,
    tokensAfter: a.tokensAfter + b.tokensAfter,
  };
}

function sum(outcomes: readonly TextOutcome[], field: 'tokensBefore' | 'tokensAfter' | 'lines' | 'keptLines'): number {
  return outcomes.reduce((total, outcome) => total + outcome[field], 0);
}

function lineOf(report: ChatReport, saved: number, shadow: boolean): Record<string, unknown> {
  const pruned = report.outcomes.filter(({ pruneId }) => pruneId !== null);
  const fresh = report.outcomes.slice(report.newFrom);
  const whole: Record<string, number> = {};
  for (const { pruneId, whole: why } of report.outcomes) if (pruneId === null) whole[why] = (whole[why] ?? 0) + 1;
  const tokensBefore = sum(report.outcomes, 'tokensBefore');
  return {
    requestId: report.requestId,
    conversationId: report.conversationId,
    model: report.model,
    stream: report.stream,
    messages: report.messages,
    candidates: report.outcomes.length,
    pruned: pruned.length,
    leftWhole: whole,
    linesBefore: sum(report.outcomes, 'lines'),
    linesAfter: sum(report.outcomes, 'keptLines'),
    tokensBefore,
    tokensAfter: tokensBefore - saved,
    tokensSaved: saved,
    ...(shadow && { shadow: true }),
    new: fresh
      .filter(({ pruneId }) => pruneId !== null)
      .slice(0, MAX_LISTED)
      .map(({ pruneId, tool, kind, lines, keptLines, tokensBefore: before, tokensAfter: after }) => ({
        pruneId,
        tool,
        kind,
        linesBefore: lines,
        linesAfter: keptLines,
        tokensBefore: before,
        tokensAfter: after,
      })),
    pruneIds: [...new Set(pruned.map(({ pruneId }) => pruneId))].slice(-MAX_LISTED),
    bytesIn: report.bytesIn,
    bytesOut: report.bytesOut,
    ...(report.usage && {
      promptTokens: report.usage.promptTokens,
      cachedTokens: report.usage.cachedTokens,
      completionTokens: report.usage.completionTokens,
    }),
    pruneMs: tenths(report.pruneMs),
    firstByteMs: report.firstByteMs === null ? null : tenths(report.firstByteMs),
    totalMs: tenths(report.totalMs),
    status: report.status,
    ...(report.end !== 'answered' && { end: report.end }),
    ...(report.upstreamError && { upstreamError: report.upstreamError }),
    ...(report.fallbacks.length > 0 && { fallbacks: report.fallbacks }),
  };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** One record for the request, and one for each tool whose results were in it. */
function usageOf(report: ChatReport, atMs: number, counted: boolean): UsageRecord[] {
  const byTool = new Map<string, TextOutcome[]>();
  for (const outcome of report.outcomes) {
    const list = byTool.get(outcome.tool) ?? [];
    list.push(outcome);
    byTool.set(outcome.tool, list);
  }
  if (byTool.size === 0) byTool.set('', []);
  const { model } = report;
  return [...byTool].map(([tool, outcomes], i) => {
    const tokensBefore = sum(outcomes, 'tokensBefore');
    return {
      atMs,
      model,
      tool,
      requests: i === 0 ? 1 : 0,
      candidates: outcomes.length,
      pruned: counted ? outcomes.filter(({ pruneId }) => pruneId !== null).length : 0,
      tokensBefore,
      tokensAfter: counted ? sum(outcomes, 'tokensAfter') : tokensBefore,
    };
  });
}

/** What a request was, what became of each text that was new in it, and what went wrong. */
export function eventsOf(report: ChatReport, tsMs: number, shadow: boolean): EventRecord[] {
  // a body that was not looked at belongs to no conversation: it is a run of its own
  const about = { tsMs, runId: report.conversationId || report.requestId, opId: report.requestId };
  const event = (kind: string, level: EventRecord['level'], payload: EventRecord['payload']): EventRecord => ({
    ...about,
    kind,
    level,
    payload,
  });
  const events: EventRecord[] = [
    event('request', report.status >= 400 ? 'warn' : 'info', {
      model: report.model,
      messages: report.messages,
      candidates: report.outcomes.length,
      tokens_saved: shadow || !report.forwardedOriginal ? savedBy(report.outcomes) : 0,
      status: report.status,
      end: report.end,
      upstream_error: report.upstreamError,
      total_ms: tenths(report.totalMs),
      ...(shadow && { shadow }),
    }),
  ];
  for (const outcome of report.outcomes.slice(report.newFrom)) {
    const { pruneId, whole, tool, kind, lines, keptLines, tokensBefore, tokensAfter } = outcome;
    const text = { tool, lines, tokens_before: tokensBefore };
    events.push(event('candidate', 'debug', { ...text, kind, message: outcome.messageIndex }));
    const after = { ...text, kept_lines: keptLines, tokens_after: tokensAfter };
    if (pruneId) events.push(event('pruned', 'info', { prune_id: pruneId, kind, ...after }));
    else events.push(event('left_whole', 'debug', { reason: whole, ...after }));
  }
  for (const reason of report.fallbacks) events.push(event('fallback', 'warn', { reason }));
  if (report.end === 'client_gone')
    events.push(event('client_failed', 'warn', { reason: 'gone', status: report.status }));
  else if (report.upstreamError !== null || report.status >= 500) {
    events.push(event('upstream_failed', 'warn', { reason: report.upstreamError ?? 'status', status: report.status }));
  } else if (report.status >= 400) {
    events.push(event('client_failed', 'warn', { reason: 'status', status: report.status }));
  }
  return events;
}
