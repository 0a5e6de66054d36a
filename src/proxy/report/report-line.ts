import type { SumGroup } from '../../core/ports/ledger-store.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import { groupBy } from '../../engine/group-by.ts';
import { forcedReason } from '../../errors/passed-whole.ts';
import type { RequestReport } from './request-report.ts';

/** Sums over all examined texts of a request. */
interface OutcomeSums {
  readonly pruned: number;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

const MAX_LISTED = 50;
const NO_SUMS: OutcomeSums = { pruned: 0, lines: 0, keptLines: 0, tokensBefore: 0, tokensAfter: 0 };

export function sumsOf(outcomes: readonly TextOutcome[]): OutcomeSums {
  if (outcomes.length === 0) return NO_SUMS;
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
 * @param saved - tokens saved or, in shadow mode, tokens that would have been saved
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

/** Number of texts left whole, by reason. */
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

/**
 * Daily figures of a request: by wire, by model and tool, and by reason if no new text could be cut. The request itself
 * counts for the tool of its first text.
 *
 * @param fresh - new texts of the request
 * @param savesTokens - whether removed tokens count as saved (in shadow mode: would have been saved)
 */
export function useSums(
  report: RequestReport,
  fresh: readonly TextOutcome[],
  atMs: number,
  savesTokens: boolean,
): SumGroup[] {
  const { wire, model, fallbacks, facts, project = facts?.project ?? '', unexamined } = report;
  const day = new Date(atMs).toISOString().slice(0, 10);
  const fields = fieldsOf(fresh, 1, savesTokens);
  const sums: SumGroup[] = [{ day, project: '', slice: 'wire', key: wire, fields }];
  if (fresh.length === 0) sums.push({ day, project: '', slice: 'use', key: `${model}\t`, fields });
  else addUses(sums, { day, model, fresh, savesTokens });
  if (unexamined === 'off' && !facts?.messages.length) {
    sums.push({ day, project, slice: 'whole', key: 'off', fields: { requests: 1 } });
  }
  if (!facts && hasNoAnswer(report)) {
    const { sender, conversationId } = report;
    const of = { project: sender?.project ?? project, key: conversationId };
    sums.push({ day, ...of, slice: 'failed', fields: { requests: 1 } });
  }
  if (fallbacks.length === 0) return sums;
  const forced = new Set(fallbacks.flatMap((code) => forcedReason(code) ?? []));
  for (const key of forced) sums.push({ day, project, slice: 'whole', key, fields: { requests: 1 } });
  return sums;
}

/** Rounds milliseconds to one decimal. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Adds the figures by tool; the request counts for the first one. */
function addUses(
  sums: SumGroup[],
  {
    day,
    model,
    fresh,
    savesTokens,
  }: { day: string; model: string; fresh: readonly TextOutcome[]; savesTokens: boolean },
): void {
  let requests = 1;
  for (const [tool, texts] of groupBy(fresh, (text) => text.tool)) {
    const fields = fieldsOf(texts, requests, savesTokens);
    sums.push({ day, project: '', slice: 'use', key: `${model}\t${tool}`, fields });
    requests = 0;
  }
}

/** Whether a request of a known conversation got no answer of the model: it is a request of the conversation, and no turn. */
function hasNoAnswer({ isAnswer, conversationId, status, end }: RequestReport): boolean {
  return isAnswer !== false && conversationId !== '' && (status < 200 || status >= 300 || end === 'failed');
}

const NONE: ReadonlyMap<string, number> = new Map();

/** Number of new results left whole, by reason; 0 for reasons that prevent examining any. */
export function leftWhole(
  { unexamined, small }: RequestReport,
  fresh: readonly TextOutcome[],
): ReadonlyMap<string, number> {
  if (unexamined !== '') return new Map([[unexamined, small + fresh.length]]);
  if (small === 0 && fresh.every(({ pruneId }) => pruneId !== null)) return NONE;
  const texts = new Map(Object.entries(reasonsIn(fresh)));
  if (small > 0) texts.set('small', small);
  return texts;
}

function fieldsOf(texts: readonly TextOutcome[], requests: number, savesTokens: boolean): SumGroup['fields'] {
  if (texts.length === 0) return { requests, candidates: 0, pruned: 0, tokens_before: 0, tokens_after: 0 };
  const { pruned, tokensBefore, tokensAfter } = sumsOf(texts);
  return {
    requests,
    candidates: texts.length,
    pruned: savesTokens ? pruned : 0,
    tokens_before: Math.round(tokensBefore), // estimates are rounded
    tokens_after: Math.round(savesTokens ? tokensAfter : tokensBefore),
  };
}
