import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { Traces } from '../../core/ports/traces.ts';
import type { RequestPipeline } from '../../core/request/pipeline.ts';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import { writesMarker } from '../../core/request/written-markers.ts';
import type { FallbackCode } from '../../errors/errors.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';
import type { ProviderName } from '../../wires/providers/facts.ts';
import { tapOf } from '../doors/exchange-usage.ts';
import { type Meter, meters } from '../doors/meter.ts';
import type { PruneStepOptions } from '../prune-step.ts';
import type { ModelDestination } from '../upstream/destinations.ts';
import type { Exchange } from '../upstream/pass-on.ts';
import { AnswerTap } from './answer-tap.ts';
import { factsOf, factsOfUnread, shadowFacts, withoutReplaced } from './ledger-facts.ts';
import {
  contentOf,
  type ExchangeFigures,
  hasFailed,
  type ReportedRequest,
  type RequestReport,
  type UnreadReport,
  unreadReport,
  withAnswer,
} from './request-report.ts';

/** Wire options used by the reporter. */
export interface ReporterOptions extends Pick<PruneStepOptions, 'modeOf' | 'hasProjects' | 'onFailure'> {
  /** The wire of the requests. */
  readonly dialect: Dialect;
  readonly rewriter: Pick<RequestPipeline, 'completed'>;
  /** The provider of the requests. */
  readonly cloud: ProviderName;
  /** Called when a request has ended. The report is built on demand and occupies memory until then. */
  readonly onReport: (report: () => RequestReport | Promise<RequestReport>, bytes: number) => void;
  readonly traces?: Traces | undefined;
}

/** A request in flight. */
interface ReportedExchange extends Pick<ReportedRequest, 'context' | 'isShadow'> {
  readonly req: IncomingMessage;
  readonly to: ModelDestination;
  readonly res: ServerResponse;
}

/** Collects figures of one in-flight request, and reports them once when it has ended. */
export class ExchangeReporter implements ExchangeFigures {
  readonly #options: ReporterOptions;
  readonly #request: ReportedExchange;
  readonly #startedAt = performance.now();
  firstByteMs: number | null = null;
  totalMs = 0;
  forwardedOriginal = false;
  readonly requestId: string;
  readonly tap: AnswerTap;
  readonly fallbacks: string[] = [];
  /** Number of leading messages that a summary stands for. */
  replaced = 0;
  pruneMs = 0;
  bytesIn = 0;
  bytesOut = 0;
  /** Set if a page of another origin may have sent the request. */
  foreign = false;
  /** See `EndedExchange`. */
  fields: readonly string[] = [];
  /** Model named in a body that was not parsed. */
  asked: string | undefined;

  constructor(options: ReporterOptions, request: ReportedExchange) {
    this.#options = options;
    this.#request = request;
    this.requestId = request.context.requestId;
    this.tap = tapOf(request.res) ?? new AnswerTap();
  }

  /** Records the time of the answer's head. Only the first call counts. */
  answered(): void {
    this.firstByteMs ??= this.#elapsedMs;
  }

  /** Reports the request. Never throws. */
  report(rewritten: RewrittenRequest | null, forwardedOriginal: boolean, exchange: Exchange): void {
    this.totalMs = this.#elapsedMs;
    const known = this.#unread(rewritten, forwardedOriginal, exchange);
    this.#add(() => this.#withAnswer(known));
  }

  /**
   * Like `report`, for a request that was forwarded unchanged before it was known what would be cut. Resolves when that
   * is known.
   *
   * @param looking - never rejects
   */
  async reportLater(looking: Promise<RewrittenRequest | null>, exchange: Exchange): Promise<void> {
    this.totalMs = this.#elapsedMs;
    const known = looking.then((rewritten) => this.#unread(rewritten, true, exchange));
    this.#add(async () => this.#withAnswer(await known));
    await known;
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  #add(make: () => RequestReport | Promise<RequestReport>): void {
    const { onReport, onFailure } = this.#options;
    try {
      onReport(make, this.bytesIn);
    } catch (cause) {
      onFailure('not_reported', cause, { requestId: this.requestId });
    }
  }

  #unread(rewritten: RewrittenRequest | null, forwardedOriginal: boolean, exchange: Exchange): UnreadReport {
    const facts = this.#facts(rewritten, forwardedOriginal, exchange);
    if (rewritten !== null && writesMarker(rewritten)) this.fallbacks.push('marker_written' satisfies FallbackCode);
    if (rewritten?.begins && exchange.kind === 'answered' && exchange.status < 300) void this.#completed(rewritten);
    const about = { ...this.#request, options: this.#options, isOff: this.#isOff(), foreign: this.foreign };
    this.forwardedOriginal = forwardedOriginal;
    const known = unreadReport(about, this, exchange, contentOf(rewritten, this.asked), facts, this.fallbacks);
    this.#trace(known, rewritten);
    return known;
  }

  #withAnswer(known: UnreadReport): RequestReport | Promise<RequestReport> {
    const meter = meters.get(this.#request.req);
    const answer = this.tap.end();
    if (meter) return Promise.resolve(answer).then((later) => meteredReport(withAnswer(known, later), meter));
    return answer instanceof Promise ? answer.then((later) => withAnswer(known, later)) : withAnswer(known, answer);
  }

  /** Records a successful model answer. Never rejects. */
  async #completed(rewritten: RewrittenRequest): Promise<void> {
    const { to, context } = this.#request;
    if (to.operation.purpose !== 'generate' || hasFailed(await this.tap.end())) return;
    this.#options.rewriter.completed(context.scope.project, rewritten);
  }

  #trace({ model, status, end, outcomes, fallbacks, shadow }: UnreadReport, rewritten: RewrittenRequest | null): void {
    this.#options.traces?.note({
      'gen_ai.request.model': model,
      'http.response.status_code': status,
      'mcp_pruner.end': end,
      'mcp_pruner.pruned': outcomes.filter(({ pruneId }) => pruneId !== null).length,
      'mcp_pruner.tokens_saved': rewritten && !shadow ? savedBy(rewritten) : 0,
      'mcp_pruner.fallbacks': fallbacks,
    });
  }

  /** The ledger's facts of an answered request. */
  #facts(
    rewritten: RewrittenRequest | null,
    forwardedOriginal: boolean,
    { kind, status }: Exchange,
  ): RequestFacts | null {
    const { context, to, isShadow } = this.#request;
    if (this.foreign || to.operation.purpose !== 'generate') return null;
    if (kind === 'declined' || status < 200 || status >= 300) return null;
    const { requestId, caller, keyId, scope } = context;
    const { project, agent: client } = scope;
    const { dialect } = this.#options;
    const model = rewritten ? undefined : (to.operation.model ?? this.asked);
    const of = { project, wire: dialect.name, cloud: this.#options.cloud, model, caller, keyId, client };
    const about = { requestId, forwardedOriginal, isOff: this.#isOff(), ...of };
    if (rewritten === null) return factsOfUnread(about, this.bytesIn);
    try {
      if (this.replaced > 0) return withoutReplaced(factsOf(rewritten, about), this.replaced, this.bytesOut);
      return isShadow && forwardedOriginal ? shadowFacts(rewritten, about) : factsOf(rewritten, about);
    } catch (cause) {
      this.#options.onFailure('not_billed', cause, { requestId });
      return null;
    }
  }

  #isOff(): boolean {
    const { isOff, scope } = this.#request.context;
    return isOff || !this.#options.modeOf(scope.project).enabled;
  }
}

/** The report of a request under a budget, with what its exchange shows. */
export async function meteredReport(report: RequestReport, meter: Meter): Promise<RequestReport> {
  const { facts = null } = report;
  const metered = await meter.bill(facts !== null);
  return facts === null ? report : { ...report, facts: { ...facts, metered } };
}

/** Tokens saved in a request. */
export function savedBy({ outcomes }: RewrittenRequest): number {
  let saved = 0;
  for (const { tokensBefore, tokensAfter } of outcomes) saved += tokensBefore - tokensAfter;
  return saved;
}
