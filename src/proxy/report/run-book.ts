import { BoundedMap } from '../../base/bounded-map.ts';
import type { RunFigures } from '../../core/ports/run-figures.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import type { FallbackCode } from '../../errors/errors.ts';
import { leftWhole } from './report-line.ts';
import type { RequestReport } from './request-report.ts';

/** Run figures that the proxy counts itself. */
export type CountedRun = Omit<RunFigures, 'open' | 'dollars' | 'dollarsWithout' | 'limits'> & {
  /** Requests in flight. */
  readonly inProgress: number;
  /** Arrival time of the first request, in epoch milliseconds. */
  readonly sinceMs: number;
  /** Ids of answered requests. */
  readonly ids: readonly string[];
};

const MAX_RUNS = 200;
/** Maximum number of answered request ids per run; beyond it the run's bill is unknown. */
const MAX_IDS = 5_000;

/** Counts requests by agent run, in memory, for the newest 200 runs. */
export class RunBook {
  readonly #runs = new BoundedMap<string, Counts>(MAX_RUNS);

  /**
   * Records the arrival of a run's request or WebSocket.
   *
   * @param run - `''` for no run
   * @returns a callback for when it has ended and was reported
   */
  begin(run: string, nowMs: number): () => void {
    if (run === '') return () => {};
    const counts = this.#countsOf(run, nowMs);
    counts.inProgress++;
    let isOver = false;
    return () => {
      if (!isOver) counts.end();
      isOver = true;
    };
  }

  /**
   * Counts a reported request.
   *
   * @param fresh - new texts of the request
   * @param isShadow - nothing was cut; the outcomes are hypothetical
   */
  record(report: RequestReport, fresh: readonly TextOutcome[], isShadow: boolean): void {
    const { run = '', isAnswer = true, facts } = report;
    if (run === '' || !isAnswer) return;
    const counts = this.#countsOf(run, 0);
    if (!facts) {
      counts.failed++;
      return;
    }
    counts.requests++;
    if (report.fallbacks.includes('marker_written' satisfies FallbackCode)) counts.markersWritten++;
    if (counts.ids.length < MAX_IDS) counts.ids.push(report.requestId);
    if (report.conversationId !== '') counts.conversation = report.conversationId;
    for (const [code, texts] of leftWhole(report, fresh)) {
      counts.leftWhole[code] = (counts.leftWhole[code] ?? 0) + texts;
    }
    if (report.forwardedOriginal && !isShadow) return;
    for (const outcome of fresh) counts.add(outcome, isShadow);
  }

  /** Resolves when no request of a run is in flight, or after `limitMs`. */
  async ended(run: string, limitMs: number): Promise<void> {
    await this.#runs.get(run)?.ended(limitMs);
  }

  /** Figures of a run; `null` if it sent no request. */
  of(run: string): CountedRun | null {
    return this.#runs.get(run) ?? null;
  }

  #countsOf(run: string, nowMs: number): Counts {
    const known = this.#runs.get(run) ?? new Counts(nowMs);
    this.#runs.set(run, known);
    return known;
  }
}

class Counts implements CountedRun {
  requests = 0;
  failed = 0;
  inProgress = 0;
  cuts = 0;
  tokens = 0;
  removed = 0;
  markersWritten = 0;
  shadow = false;
  largest = '';
  conversation = '';
  readonly leftWhole: Record<string, number> = {};
  readonly ids: string[] = [];
  readonly sinceMs: number;
  #largest = 0;
  readonly #onEnded = new Set<() => void>();

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }

  end(): void {
    this.inProgress--;
    if (this.inProgress === 0) for (const resolve of this.#onEnded) resolve();
  }

  async ended(limitMs: number): Promise<void> {
    if (this.inProgress === 0) return;
    await new Promise<void>((resolve) => {
      const over = (): void => {
        clearTimeout(timer);
        this.#onEnded.delete(over);
        resolve();
      };
      const timer = setTimeout(over, limitMs);
      this.#onEnded.add(over);
    });
  }

  add({ pruneId, tokensBefore, tokensAfter }: TextOutcome, isShadow: boolean): void {
    if (pruneId === null) return;
    this.cuts++;
    this.tokens += tokensBefore;
    this.removed += tokensBefore - tokensAfter;
    if (isShadow) this.shadow = true;
    else if (tokensBefore - tokensAfter > this.#largest) {
      this.#largest = tokensBefore - tokensAfter;
      this.largest = pruneId;
    }
  }
}
