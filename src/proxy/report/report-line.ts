import type { LedgerSum } from '../../core/ports/ledger-store.ts';
import type { UsageRecord } from '../../core/ports.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import type { RequestReport } from './request-report.ts';

/** Sums over all examined texts. */
interface OutcomeSums {
  readonly pruned: number;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

const MAX_LISTED = 50;

export function sumsOf(outcomes: readonly TextOutcome[]): OutcomeSums {
  const sums = { pruned: 0, lines: 0, keptLines: 0, tokensBefore: 0, tokensAfter: 0 };
  for (const outcome of outcomes) {
    if (outcome.pruneId !== null) sums.pruned++;
    sums.lines += outcome.lines;
    sums.keptLines += outcome.keptLines;
    sums.tokensBefore += outcome.tokensBefore;
    sums.tokensAfter += outcome.tokensAfter;
  }
  return sums;
}

/**
 * The fields of a request's log line.
 *
 * @param saved - tokens saved, or in shadow mode the tokens that would have been
 */
export function lineOf(
  report: RequestReport,
  sums: OutcomeSums,
  saved: number,
  shadow: boolean,
): Record<string, unknown> {
  const { outcomes, usage } = report;
  const line: Record<string, unknown> = {
    requestId: report.requestId,
    conversationId: report.conversationId,
    wire: report.wire,
    cloud: report.cloud,
    model: report.model,
    stream: report.stream,
    messages: report.messages,
    candidates: outcomes.length,
    pruned: sums.pruned,
    leftWhole: outcomes.length === sums.pruned ? {} : reasonsIn(outcomes),
    linesBefore: sums.lines,
    linesAfter: sums.keptLines,
    tokensBefore: sums.tokensBefore,
    tokensAfter: sums.tokensBefore - saved,
    tokensSaved: saved,
  };
  if (shadow) line.shadow = true;
  line.new = sums.pruned === 0 ? [] : newIn(outcomes, report.newFrom);
  line.pruneIds = sums.pruned === 0 ? [] : pruneIdsOf(outcomes);
  line.bytesIn = report.bytesIn;
  line.bytesOut = report.bytesOut;
  if (usage) {
    line.promptTokens = usage.promptTokens;
    line.cachedTokens = usage.cachedTokens;
    if (usage.cacheWriteTokens !== undefined) line.cacheWriteTokens = usage.cacheWriteTokens;
    line.completionTokens = usage.completionTokens;
  }
  if (report.reports && report.reports.prefixMismatches > 0) line.prefixMismatches = report.reports.prefixMismatches;
  line.pruneMs = tenths(report.pruneMs);
  line.firstByteMs = report.firstByteMs === null ? null : tenths(report.firstByteMs);
  line.totalMs = tenths(report.totalMs);
  line.status = report.status;
  if (report.end !== 'answered') line.end = report.end;
  if (report.upstreamError) line.upstreamError = report.upstreamError;
  if (report.fallbacks.length > 0) line.fallbacks = report.fallbacks;
  return line;
}

/** Number of texts kept whole, by reason. */
function reasonsIn(outcomes: readonly TextOutcome[]): Record<string, number> {
  const whole: Record<string, number> = {};
  for (const { pruneId, whole: why } of outcomes) if (pruneId === null) whole[why] = (whole[why] ?? 0) + 1;
  return whole;
}

function newIn(outcomes: readonly TextOutcome[], newFrom: number): object[] {
  return outcomes
    .slice(newFrom)
    .filter(({ pruneId }) => pruneId !== null)
    .slice(0, MAX_LISTED)
    .map(({ pruneId, tool, kind, lines, keptLines, tokensBefore, tokensAfter }) => ({
      pruneId,
      tool,
      kind,
      linesBefore: lines,
      linesAfter: keptLines,
      tokensBefore,
      tokensAfter,
    }));
}

function pruneIdsOf(outcomes: readonly TextOutcome[]): string[] {
  const ids = new Set<string>();
  for (const { pruneId } of outcomes) if (pruneId !== null) ids.add(pruneId);
  return [...ids].slice(-MAX_LISTED);
}

/** Milliseconds with one decimal. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

const DAY_MS = 86_400_000;
/** Maximum number of pending combinations of day, model and tool. */
const MAX_WAITING = 5_000;

type Totals = { -readonly [Field in keyof UsageRecord]: UsageRecord[Field] };

/** Totals of requests by day, model and tool until they are written. */
export class UsageTotals {
  #waiting = new Map<string, Totals>();

  /**
   * @param fresh - the request's new texts
   * @param savesTokens - whether removed tokens count as saved; in shadow mode, whether they would have been
   */
  add({ model }: RequestReport, fresh: readonly TextOutcome[], atMs: number, savesTokens: boolean): void {
    // the request itself counts with the tool of its first text
    const first = this.#of(model, fresh[0]?.tool ?? '', atMs);
    if (first) first.requests++;
    for (const { tool, pruneId, tokensBefore, tokensAfter } of fresh) {
      const totals = this.#of(model, tool, atMs);
      if (!totals) continue;
      totals.candidates++;
      if (savesTokens && pruneId !== null) totals.pruned++;
      totals.tokensBefore += tokensBefore;
      totals.tokensAfter += savesTokens ? tokensAfter : tokensBefore;
    }
  }

  /** Returns and clears the pending totals. */
  take(): readonly UsageRecord[] {
    const all = [...this.#waiting.values()];
    this.#waiting = new Map();
    return all;
  }

  #of(model: string, tool: string, atMs: number): Totals | undefined {
    const key = `${Math.floor(atMs / DAY_MS)}\0${model}\0${tool}`;
    const waiting = this.#waiting.get(key);
    if (waiting || this.#waiting.size >= MAX_WAITING) return waiting;
    const totals = { atMs, model, tool, requests: 0, candidates: 0, pruned: 0, tokensBefore: 0, tokensAfter: 0 };
    this.#waiting.set(key, totals);
    return totals;
  }
}

/** The ledger's `field` of each total of a wire, in the order of `values`. */
const FIELDS = ['requests', 'candidates', 'pruned', 'tokens_before', 'tokens_after'] as const;

/** Totals of requests by day and wire until they are written. */
export class WireTotals {
  #waiting = new Map<string, { readonly day: string; readonly wire: string; readonly values: number[] }>();

  /**
   * @param sums - sums over the request's new texts
   * @param texts - number of new texts
   * @param savesTokens - whether removed tokens count as saved; in shadow mode, whether they would have been
   */
  add({ wire }: RequestReport, sums: OutcomeSums, texts: number, atMs: number, savesTokens: boolean): void {
    const day = new Date(atMs).toISOString().slice(0, 10);
    const key = `${day} ${wire}`;
    const totals = this.#waiting.get(key) ?? { day, wire, values: FIELDS.map(() => 0) };
    this.#waiting.set(key, totals);
    const after = savesTokens ? sums.tokensAfter : sums.tokensBefore;
    const added = [1, texts, savesTokens ? sums.pruned : 0, sums.tokensBefore, after];
    added.forEach((value, i) => {
      totals.values[i] = (totals.values[i] ?? 0) + value;
    });
  }

  /** Returns and clears the pending totals. */
  take(): readonly LedgerSum[] {
    const all = [...this.#waiting.values()];
    this.#waiting = new Map();
    return all.flatMap(({ day, wire, values }) =>
      FIELDS.map(
        (field, i): LedgerSum => ({
          day,
          project: '',
          slice: 'wire',
          key: wire,
          field,
          value: Math.round(values[i] ?? 0),
        }),
      ),
    );
  }
}
