import type { EventRecord } from '../../core/ports.ts';
import { tenths } from './report-line.ts';
import type { RequestReport } from './request-report.ts';

/**
 * Events of a request: its facts, the outcome of each new text, and failures.
 *
 * @param saved - tokens removed from its new texts, or in shadow mode the tokens that would have been
 */
export function eventsOf(report: RequestReport, tsMs: number, saved: number, shadow: boolean): EventRecord[] {
  // an unread body has no conversation, so the request is its own run
  const runId = report.conversationId || report.requestId;
  const opId = report.requestId;
  const { childId = null, project, tools } = report;
  const events: EventRecord[] = [];
  const add = (kind: string, level: EventRecord['level'], payload: EventRecord['payload']): void => {
    events.push({ tsMs, runId, opId, kind, level, payload, childId, project });
  };
  add('request', report.status >= 400 ? 'warn' : 'info', {
    wire: report.wire,
    model: report.model,
    messages: report.messages,
    candidates: report.outcomes.length - report.newFrom,
    tokens_saved: saved,
    status: report.status,
    end: report.end,
    upstream_error: report.upstreamError,
    total_ms: tenths(report.totalMs),
    project: tools?.project,
    client: tools?.client,
    shadow: shadow || undefined,
  });
  for (let i = report.newFrom; i < report.outcomes.length; i++) {
    const outcome = report.outcomes[i];
    if (!outcome) continue;
    const { pruneId, whole, tool, kind, lines, keptLines, tokensBefore, tokensAfter } = outcome;
    const before = { tool, lines, tokens_before: tokensBefore, kind, message: outcome.messageIndex };
    add('candidate', 'debug', before);
    const after = { tool, lines, tokens_before: tokensBefore, kept_lines: keptLines, tokens_after: tokensAfter };
    if (pruneId) add('pruned', 'info', { prune_id: pruneId, kind, ...after });
    else add('left_whole', 'debug', { reason: whole, ...after });
  }
  for (const reason of report.fallbacks) add('fallback', 'warn', { reason });
  const { status } = report;
  if (report.end === 'client_gone') add('client_failed', 'warn', { reason: 'gone', status });
  else if (report.upstreamError !== null || status >= 500) {
    add('upstream_failed', 'warn', { reason: report.upstreamError ?? 'status', status });
  } else if (status >= 400) add('client_failed', 'warn', { reason: 'status', status });
  return events;
}
