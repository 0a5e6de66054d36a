import type { RequestFacts } from '../../core/ports/request-facts.ts';
import { outcomesFrom, type TextOutcome } from '../../core/request/prefix-memo.ts';
import { tailOf } from '../../core/request/read.ts';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import type { FallbackCode } from '../../errors/errors.ts';
import type { Answer, Dialect, ProviderReports, ProviderUsage } from '../../wires/dialects/dialect.ts';
import type { ProviderName } from '../../wires/providers/facts.ts';
import type { RequestContext } from '../request-context.ts';
import type { ModelDestination } from '../upstream/destinations.ts';
import type { Exchange } from '../upstream/pass-on.ts';

/** The report of one request: counts, names and codes; never a text or a credential. */
export interface RequestReport {
  readonly requestId: string;
  /** The child agent that sent the request, if any. */
  readonly childId?: string | null;
  /** The request's project, if data belongs to projects. */
  readonly project?: string | undefined;
  /** Project and client named by the request, for events; absent if unknown. */
  readonly sender?: { readonly project: string; readonly client: string } | undefined;
  /** The run that sent the request, or `''`. */
  readonly run?: string;
  /** Whether a page of another origin may have sent the request; nothing of it may be stored. */
  readonly foreign: boolean;
  /** The wire of the request and its answer. */
  readonly wire: Dialect['name'];
  readonly verifiesHistory: Dialect['verifiesHistory'];
  /** The provider that received the request. */
  readonly cloud?: ProviderName;
  /** Conversation id, derived from its beginning; `''` if the body was not parsed. */
  readonly conversationId: string;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: number;
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** Number of new results that were too small to be examined. */
  readonly small: number;
  /** Why no new result was examined: `held_out`, `left_alone` or `off`; otherwise `''`. */
  readonly unexamined: string;
  /** The unpruned bytes were forwarded (`shadow`, or resent after a refusal). */
  readonly forwardedOriginal: boolean;
  /** Whether the project was in shadow mode. Default: the server's mode. */
  readonly shadow?: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly fallbacks: readonly string[];
  readonly pruneMs: number;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  /** Status sent to the client; 0 if it disconnected first. */
  readonly status: number;
  readonly end: Exchange['kind'];
  readonly upstreamError: string | null;
  readonly usage: ProviderUsage | null;
  /** Facts reported by the provider; absent if the answer was not read. */
  readonly reports?: ProviderReports;
  /** Estimated tokens of the answer's text. */
  readonly answerTokens?: number;
  /** Facts for the ledger; `null` if nothing was read or generated. */
  readonly facts?: RequestFacts | null;
  /** For guests; absent if they must not know of the request. */
  readonly context?: RequestContext;
  /** See `EndedExchange`. */
  readonly fields?: readonly string[];
  readonly limitEvents?: readonly Buffer[];
  /** Whether a model answer was requested, not a count. Default: true. */
  readonly isAnswer?: boolean;
}

/** A report whose answer has not been read yet. */
export type UnreadReport = Omit<RequestReport, 'usage'> & {
  readonly fallbacks: string[];
};

const BYTES_PER_TOKEN = 4;

/** Whether a provider answered with 2xx but failed before generating anything. */
export function hasFailed({ error, usage }: Answer): boolean {
  return error !== null && usage === null;
}

/** Adds the answer to a report, in place. Failed requests and empty answers have no bill; blocks dropped by the provider count as a fallback. */
export function withAnswer(report: UnreadReport, answer: Answer): RequestReport {
  const { error, reports } = answer;
  const { facts, fallbacks } = report;
  const answerTokens = answer.textBytes / BYTES_PER_TOKEN;
  const isCut = report.end === 'client_gone' || report.upstreamError !== null;
  if (answer.isUnread === true) fallbacks.push('answer_not_read' satisfies FallbackCode);
  if (reports.hasOddCounts) fallbacks.push('odd_usage' satisfies FallbackCode);
  if (reports.prefixMismatches > 0) fallbacks.push('prefix_binding_mismatch' satisfies FallbackCode);
  const hasNoBill = hasFailed(answer) || (report.end === 'answered' && answer.isEmpty === true);
  return Object.assign(report, {
    usage: answer.usage && isCut ? withOutput(answer.usage, answerTokens) : answer.usage,
    reports,
    answerTokens,
    upstreamError: report.upstreamError ?? (error && report.status < 300 ? `answer_${error}` : null),
    facts: !facts || hasNoBill ? null : answeredFacts(facts, answer),
  });
}

function answeredFacts(facts: RequestFacts, { model, reports }: Answer): RequestFacts {
  const { clearedTokens } = reports;
  const named = facts.model !== '' || !model ? facts : { ...facts, model };
  const kept = reports.hasOddCounts ? { ...named, odd: true as const } : named;
  return clearedTokens > 0 ? { ...kept, cleared: clearedTokens } : kept;
}

/** A truncated answer may report only part of its output, which is then estimated. */
function withOutput(usage: ProviderUsage, estimate: number): ProviderUsage {
  return (usage.completionTokens ?? 0) < estimate ? { ...usage, completionTokens: null } : usage;
}

/** Reported model names are truncated to this length. */
const MAX_MODEL_CHARS = 200;

/** A request to report, with its sender and destination. */
export interface ReportedRequest {
  readonly context: RequestContext;
  readonly to: Pick<ModelDestination, 'operation'>;
  readonly options: {
    readonly dialect: Dialect;
    readonly cloud: ProviderName;
    /** Whether data belongs to projects. */
    readonly hasProjects?: boolean;
  };
  /** Pruning was off for the request. */
  readonly isOff: boolean;
  /** Whether the project was in shadow mode when the request arrived. */
  readonly isShadow?: boolean;
  /** Whether a page of another origin may have sent it. */
  readonly foreign?: boolean;
}

/** Figures of a request's exchange. */
export interface ExchangeFigures
  extends Pick<UnreadReport, 'forwardedOriginal' | 'bytesIn' | 'bytesOut' | 'pruneMs' | 'firstByteMs' | 'totalMs'> {
  readonly requestId: string;
  /** See `EndedExchange`. */
  readonly fields: readonly string[];
}

export type RequestContent = ReturnType<typeof contentOf>;

export function unreadReport(
  { context, to, options, isOff, isShadow = false, foreign = false }: ReportedRequest,
  figures: ExchangeFigures,
  end: Exchange,
  content: RequestContent,
  facts: RequestFacts | null,
  fallbacks: string[],
): UnreadReport {
  const { scope, client, run, childId } = context;
  const { model, stream, purpose } = to.operation;
  // a count request repeats a request that is sent separately
  const isAnswer = purpose === 'generate';
  // one literal: properties after a spread are slow in Node 20
  return {
    requestId: figures.requestId,
    childId,
    project: options.hasProjects ? scope.project : undefined,
    sender: { project: scope.project, client },
    run,
    foreign,
    wire: options.dialect.name,
    verifiesHistory: options.dialect.verifiesHistory,
    cloud: options.cloud,
    shadow: isShadow,
    isAnswer,
    conversationId: content.conversationId,
    model: model ?? content.model,
    stream: stream ?? content.stream,
    messages: content.messages,
    outcomes: content.outcomes,
    newFrom: isAnswer ? content.newFrom : content.outcomes.length,
    small: isAnswer ? content.small : 0,
    unexamined: isOff ? 'off' : content.unexamined,
    forwardedOriginal: figures.forwardedOriginal,
    bytesIn: figures.bytesIn,
    bytesOut: figures.bytesOut,
    fallbacks,
    pruneMs: figures.pruneMs,
    firstByteMs: figures.firstByteMs,
    totalMs: figures.totalMs,
    status: end.status,
    end: end.kind,
    upstreamError: 'error' in end ? end.error : null,
    facts,
    context,
    fields: figures.fields,
  };
}

/**
 * Report fields about a request's content; `null` if it was not parsed.
 *
 * @param asked - model that an unparsed body names
 */
export function contentOf(
  rewritten: RewrittenRequest | null,
  asked = '',
): Pick<
  RequestReport,
  'conversationId' | 'model' | 'stream' | 'messages' | 'outcomes' | 'newFrom' | 'small' | 'unexamined'
> {
  return {
    conversationId: rewritten?.shownId ?? '',
    model: (rewritten?.model || asked).slice(0, MAX_MODEL_CHARS),
    stream: rewritten?.stream ?? false,
    messages: rewritten?.messages.length ?? 0,
    outcomes: rewritten?.outcomes ?? [],
    newFrom: rewritten === null ? 0 : newTextsFrom(rewritten),
    small: rewritten === null ? 0 : smallResults(rewritten).length,
    unexamined: rewritten === null ? '' : unexaminedReason(rewritten),
  };
}

/** Why no new result of a request was examined; `''` if they were. */
export function unexaminedReason({ heldOut, refusedBefore }: RewrittenRequest): '' | 'held_out' | 'left_alone' {
  return heldOut ? 'held_out' : refusedBefore ? 'left_alone' : '';
}

/**
 * Results after the model's last answer without a large text. Earlier messages are not read.
 *
 * @returns the index of the message of each, the newest first
 */
export function smallResults({ messages, outcomes }: RewrittenRequest): number[] {
  const small: number[] = [];
  let next = outcomes.length - 1;
  for (let i = messages.length - 1, tail = tailOf(messages); i >= tail; i--) {
    let found = 0;
    for (; (outcomes[next]?.messageIndex ?? -1) >= i; next--) found++;
    let results = 0;
    for (const { use } of messages[i]?.texts ?? []) if (use === 'result') results++;
    for (; results > found; results--) small.push(i);
  }
  return small;
}

/**
 * Index of the first text that is certainly new: unknown to this process, and without a model answer after it
 * (`mayBeNewFrom` in `ledger-facts.ts` requires only one of the two). After a restart, on another replica and in shadow
 * mode, texts of older turns are unknown but not new.
 */
function newTextsFrom({ outcomes, newFrom, messages }: RewrittenRequest): number {
  return Math.max(newFrom, outcomesFrom(outcomes, tailOf(messages)));
}
