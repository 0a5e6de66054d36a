import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { started, type Work, waitFor } from '../base/work.ts';
import type { OnEnded } from '../core/ports/guest.ts';
import type { SeamExchange, SeamSeat } from '../core/ports/seams.ts';
import type { RequestPipeline } from '../core/request/pipeline.ts';
import type { RefusedConversations } from '../core/request/provider-verdicts.ts';
import type { IncomingRequest } from '../core/request/request.ts';
import type { RewrittenRequest } from '../core/request/rewritten.ts';
import { type FallbackCode, reasonOf } from '../errors/errors.ts';
import type { Enclosed, Operation } from '../wires/providers/provider.ts';
import { type ByteBudget, collectBody, readLimit, receivedBytes } from './byte-budget.ts';
import type { BodyDecoder, DecodedBody } from './decode-body.ts';
import { askedIn } from './doors/asked-model.ts';
import { tapOf } from './doors/exchange-usage.ts';
import { admitted } from './doors/gatekeeper.ts';
import { isMasked, lenders, maskAnswer, SecretMask } from './doors/lent-keys.ts';
import { meters, tolls } from './doors/meter.ts';
import type { Heads } from './lane/heads.ts';
import { type PrunedRequest, PruneStep, type PruneStepOptions } from './prune-step.ts';
import { ExchangeReporter, type ReporterOptions, savedBy } from './report/exchange-reporter.ts';
import { hasFailed } from './report/request-report.ts';
import { contextOf, type RequestContext } from './request-context.ts';
import { sendError } from './send-error.ts';
import type { AwsSigning, SigningScope, Treatment } from './upstream/aws-signing.ts';
import type { ModelDestination } from './upstream/destinations.ts';
import { headerIn, ownFields, requestHeaders, withBeta } from './upstream/headers.ts';
import type { Exchange } from './upstream/pass-on.ts';
import { type Decline, REFUSALS, REFUSED_SUMMARY, Refusal } from './upstream/refusal.ts';
import { discardUpload, uploadOf } from './upstream/unread-upload.ts';

export interface WireOptions extends PruneStepOptions, ReporterOptions {
  readonly rewriter: RequestPipeline;
  readonly refused: RefusedConversations;
  /** Verifies and creates the provider's signatures; absent if the provider uses none. */
  readonly signing?: AwsSigning;
  /**
   * Whether a web page of another origin may have sent the request, which is then forwarded without being read or
   * stored.
   */
  readonly isForeign: (headers: IncomingHttpHeaders) => boolean;
  /** Decodes compressed bodies. */
  readonly decoder: Pick<BodyDecoder, 'decode' | 'keep'>;
  /** Budget of bodies above `maxBodyBytes`, which are read to replay recorded cuts, and of large decoded bodies. */
  readonly largeBodies: Pick<ByteBudget, 'take'>;
  readonly newRequestId: () => string;
  /** Budget of bodies in memory, from their first byte to the end of their answers. */
  readonly received: Pick<ByteBudget, 'take'>;
  /** Remembers how requests were admitted, for the lane. */
  readonly heads?: Heads | undefined;
  /** Gets the limits that a WebSocket reports outside its requests; all else is in the reports. */
  readonly ended?: OnEnded | undefined;
  /** Replaces summarised messages, and has finished work summarised; absent without that part. */
  readonly seams?: SeamSeat | undefined;
}

/** Maximum wait of a body above the limit for earlier ones, in milliseconds. */
const LARGE_BODY_PATIENCE_MS = 30_000;
const BOUND_PATIENCE_MS = 10_000;
/** A smaller body has no history with a result that could have been cut. */
const LEAST_BOUND_BYTES = 4_096;
const BUSY = 503;
const RETRY_AFTER_S = 5;

/** Serves the requests of one wire: collect, prune, forward, report. */
export class WireHandler {
  readonly #options: WireOptions;
  readonly #step: PruneStep;

  constructor(options: WireOptions) {
    this.#options = options;
    this.#step = new PruneStep(this.#options);
  }

  /**
   * Never rejects. After a fault while pruning, the request is still forwarded; any other fault is answered with 502.
   */
  async handle(req: IncomingMessage, res: ServerResponse, to: ModelDestination): Promise<void> {
    const meter = meters.get(req);
    meter?.take();
    const newId = this.#options.newRequestId();
    const requestId = meter?.requestId ?? newId;
    const context = contextOf(req, requestId, to);
    this.#admit(req, res, context, to);
    const exchange = new WireExchange(this.#options, this.#step, req, res, context, to);
    try {
      await this.#traced(req, exchange, requestId);
    } catch (cause) {
      this.#options.onFailure('internal_error', cause, { requestId });
      void meter?.bill(false);
      const message = 'The proxy failed before the request could be forwarded.';
      sendError(res, 'internal_error', message, 502, this.#options.dialect.error);
    }
  }

  /** Lets further requests with the same head take the lane, if nothing about this one is unusual. */
  #admit(req: IncomingMessage, res: ServerResponse, context: RequestContext, to: ModelDestination): void {
    const { heads, dialect, modeOf, traces, signing, isForeign, seams } = this.#options;
    const { operation } = to;
    if (!heads || traces || signing || dialect.walk === undefined) return;
    if (operation.purpose !== 'generate' || operation.open || context.childId !== null) return;
    const { enabled, shadow } = modeOf(context.scope.project);
    const door = admitted.get(req);
    const isOff = !enabled || context.isOff;
    if (isOff ? dialect.verifiesHistory !== 'never' : shadow) return;
    if ((door && !door.renew) || isForeign(req.headers)) return;
    if (seams && asksForSeams(req)) return;
    const toll = tolls.get(req);
    const lend = lenders.get(req);
    const charge = door?.charge;
    if (toll && charge) return; // an exchange reserves once
    if ((!toll && !charge && tapOf(res)) || (lend === undefined && isMasked(res))) return;
    heads.add(req, { context, to, options: this.#options, isOff, renew: door?.renew, charge, toll, lend });
  }

  #traced({ headers }: IncomingMessage, exchange: WireExchange, requestId: string): Promise<void> {
    const { traces, dialect, cloud } = this.#options;
    if (!traces) return started(exchange.run());
    const facts = { 'mcp_pruner.request_id': requestId, 'mcp_pruner.wire': dialect.name, 'mcp_pruner.cloud': cloud };
    return traces.request(headers, facts, () => started(exchange.run()));
  }
}

function asksForSeams({ headers }: IncomingMessage): boolean {
  return headers['x-mcp-pruner-seams'] !== undefined;
}

/** One request in flight. */
class WireExchange {
  readonly #options: WireOptions;
  readonly #step: PruneStep;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #context: RequestContext;
  readonly #requestId: string;
  /** Whether the project was in shadow mode when the request arrived. */
  readonly #isShadow: boolean;
  readonly #to: ModelDestination;
  readonly #reporter: ExchangeReporter;
  /** Set if the request must be re-signed. */
  #signingScope: SigningScope | null = null;
  readonly #beganMs: number;
  readonly #arrivedAt = performance.now();
  #seam: SeamExchange | null = null;

  constructor(
    options: WireOptions,
    step: PruneStep,
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    to: ModelDestination,
  ) {
    this.#options = options;
    this.#step = step;
    this.#req = req;
    this.#res = res;
    this.#context = context;
    this.#requestId = context.requestId;
    this.#isShadow = options.modeOf(context.scope.project).shadow;
    this.#to = to;
    this.#beganMs = options.seams?.nowMs() ?? 0;
    this.#reporter = new ExchangeReporter(options, { req, res, context, to, isShadow: this.#isShadow });
  }

  *run(): Work<void> {
    this.#reporter.foreign = this.#options.isForeign(this.#req.headers);
    if (this.#reporter.foreign) return yield* this.#passThrough('foreign_origin');
    const sinceMs = performance.now();
    const release = meters.has(this.#req) ? () => {} : yield* waitFor(this.#room());
    if (release === null) return this.#asksToRetryUnread(sinceMs) ? undefined : yield* this.#passThrough('overloaded');
    try {
      const collected = yield* waitFor(collectBody(this.#req, this.#options.maxBodyBytes));
      if (collected.kind === 'gone') return this.#reporter.report(null, false, { kind: 'client_gone', status: 0 });
      if (collected.kind === 'too_large') return yield* this.#runLarge(collected.start);
      yield* this.#forward(collected.body);
    } finally {
      release();
    }
  }

  get #encoding(): string {
    return this.#req.headers['content-encoding'] ?? '';
  }

  /** Waits for room in memory for the body, held until its answer has ended; `null` if there is none. */
  #room(): (() => void) | Promise<(() => void) | null> {
    const { received, maxBodyBytes } = this.#options;
    const bytes = receivedBytes(this.#req, maxBodyBytes);
    return received.take(bytes, this.#patienceMs, this.#context.keyId);
  }

  /** Maximum wait for room. Where the client may be asked to retry, it must not give up before. */
  get #patienceMs(): number {
    const mayRetry = this.#options.dialect.verifiesHistory !== 'never' && this.#options.refusals !== undefined;
    return mayRetry ? BOUND_PATIENCE_MS : LARGE_BODY_PATIENCE_MS;
  }

  /** Forwards a body above the limit. If the history may be bound, the body is read to replay recorded cuts. */
  *#runLarge(start: readonly Buffer[]): Work<void> {
    const { dialect, maxBodyBytes, largeBodies } = this.#options;
    const limit = readLimit(this.#options);
    const declared = Number(this.#req.headers['content-length'] ?? limit);
    const isRead = dialect.verifiesHistory !== 'never' && limit > maxBodyBytes && declared <= limit;
    const isEncoded = this.#encoding !== '';
    const bytes = isEncoded ? limit : declared; // decoding must not wait for a budget that this body holds
    const sinceMs = performance.now();
    const release = isRead ? yield* waitFor(largeBodies.take(bytes, this.#patienceMs, this.#context.keyId)) : null;
    if (isRead && release === null && this.#asksToRetryUnread(sinceMs)) return;
    if (release === null) return yield* this.#passThrough('body_too_large', start);
    try {
      const collected = yield* waitFor(collectBody(this.#req, limit, start));
      if (collected.kind === 'gone') return this.#reporter.report(null, false, { kind: 'client_gone', status: 0 });
      if (collected.kind === 'too_large') return yield* this.#passThrough('body_too_large', collected.start);
      yield* this.#forward(collected.body, isEncoded);
    } finally {
      release();
    }
  }

  /** Forwarded, the request might have another history than the provider has seen. All clients resend it. */
  #askToRetry(): void {
    if (!this.#res.headersSent) this.#res.setHeader('Retry-After', String(RETRY_AFTER_S));
    sendError(this.#res, 'server_busy', undefined, undefined, this.#options.dialect.error);
    discardUpload(this.#req);
    this.#reporter.report(null, false, { kind: 'answered', status: BUSY, error: null });
  }

  /**
   * Answers a body that finds no room, if the history in it may be bound. It is not read, so its session stands for the
   * conversation, and its size for results in it.
   *
   * @returns whether it was answered
   */
  #asksToRetryUnread(sinceMs: number): boolean {
    const { dialect, refusals } = this.#options;
    const { session, account } = this.#context;
    const declared = Number(this.#req.headers['content-length'] ?? LEAST_BOUND_BYTES);
    if (dialect.verifiesHistory === 'never' || this.#to.operation.purpose === 'count') return false;
    if (declared < LEAST_BOUND_BYTES || refusals?.refuses(`unread\n${session || account}`, sinceMs) !== true)
      return false;
    this.#reporter.fallbacks.push('asked_to_retry' satisfies FallbackCode);
    this.#askToRetry();
    return true;
  }

  /** Streams a body unread. */
  *#passThrough(reason: FallbackCode, start: readonly Buffer[] = []): Work<void> {
    this.#reporter.fallbacks.push(reason);
    const declared = this.#req.headers['content-length'];
    const length = declared === undefined ? [] : ['content-length', declared];
    const exchange = yield* this.#send(uploadOf(this.#req, start), length, [], null);
    discardUpload(this.#req);
    this.#reporter.report(null, true, exchange);
  }

  /** @param isReserved - memory for the largest decoded body is reserved */
  *#forward(original: Buffer, isReserved = false): Work<void> {
    this.#reporter.bytesIn = original.length;
    const treatment = yield* this.#treatmentOf(original);
    if (treatment.kind === 'closed') {
      this.#reporter.fallbacks.push(treatment.reason);
      return this.#reporter.report(null, true, yield* this.#send(original, [], [], null));
    }
    if (treatment.kind === 'resign') this.#resign(treatment.scope);
    const sinceMs = performance.now();
    const decoded = yield* waitFor(this.#decode(original, isReserved));
    if (decoded.kind === 'unread') {
      const mayRetry = decoded.reason === 'overloaded' && decoded.mayBeAnswered;
      if (mayRetry && this.#asksToRetryUnread(sinceMs)) return;
      this.#reporter.fallbacks.push(decoded.reason);
      return this.#reporter.report(null, true, yield* this.#send(original, [], [], null));
    }
    try {
      yield* this.#pruneAndForward(original, decoded.body);
    } finally {
      decoded.release();
    }
  }

  #decode(body: Buffer, isReserved: boolean): DecodedBody | Promise<DecodedBody> {
    const { keyId: holder } = this.#context;
    return this.#options.decoder.decode({
      ...{ request: this.#req, body, encoding: this.#encoding, maxBytes: readLimit(this.#options), holder, isReserved },
    });
  }

  /** @param plain - the decoded body */
  *#pruneAndForward(original: Buffer, plain: Buffer): Work<void> {
    if (this.#isShadow && this.#options.dialect.verifiesHistory === 'never')
      return yield* this.#forwardAndLook(original, plain);
    const { rewritten, changed, dryRun, retry } = yield* this.#prune(plain);
    if (retry) return this.#askToRetry();
    if (rewritten === null) {
      [this.#reporter.asked] = askedIn(plain).models;
      return this.#reporter.report(null, true, yield* this.#send(original, [], [], null));
    }
    return yield* this.#sendOrResend(original, plain, { rewritten, changed, dryRun });
  }

  /** Forwards a request unchanged at once, and finds out meanwhile what would be cut. */
  *#forwardAndLook(original: Buffer, plain: Buffer): Work<void> {
    const sending = started(this.#send(original, [], [], null));
    const looking = started(this.#prune(plain)).then(({ rewritten }) => {
      if (rewritten === null) [this.#reporter.asked] = askedIn(plain).models;
      return rewritten;
    });
    const sent = yield* waitFor(sending);
    yield* waitFor(this.#reporter.reportLater(looking, sent)); // until then, the bodies stay in memory
  }

  /** Sends a request, and resends it once in another form if the provider refuses it. */
  *#sendOrResend(
    original: Buffer,
    plain: Buffer,
    {
      rewritten,
      changed,
      dryRun,
    }: Pick<PrunedRequest, 'changed' | 'dryRun'> & { readonly rewritten: RewrittenRequest },
  ): Work<void> {
    const { dialect } = this.#options;
    const isGenerated = this.#to.operation.purpose === 'generate';
    const { rawHistory, isKept, acceptedBefore } = rewritten;
    const isAsBefore = !rawHistory && !isKept && (changed === null || acceptedBefore);
    const refusal =
      isAsBefore && isGenerated
        ? this.#refusalOfThinking()
        : new Refusal(dialect, rewritten, changed !== null && isGenerated);
    const first = yield* this.#sendPruned(original, rewritten, changed, refusal);
    if (first.kind !== 'declined') return this.#reporter.report(dryRun ?? rewritten, changed === null, first);
    if (refusal.ofHistory) return yield* this.#sendRepruned(original, plain);
    this.#reporter.fallbacks.push(`upstream_refused_${first.status}`);
    const refused = this.#options.refused
      .add(rewritten.refusalKeys)
      .catch((cause: unknown) => this.#options.onFailure(reasonOf(cause), cause, { requestId: this.#requestId }));
    yield* waitFor(refused);
    this.#reporter.report(rewritten, true, yield* this.#send(original, [], [], null));
  }

  #resign(scope: SigningScope): void {
    this.#signingScope = scope;
    const token = this.#options.signing?.sessionToken ?? null;
    if (token !== null) maskAnswer(this.#res, new SecretMask(token));
  }

  *#treatmentOf(body: Buffer): Work<Treatment> {
    const { url = '', headers } = this.#req;
    const { signing } = this.#options;
    return signing ? yield* waitFor(signing.treatmentOf({ url, headers, body })) : { kind: 'open' };
  }

  /**
   * The provider rejected the unpruned history, so an earlier run must have pruned it. Re-prune it and resend; once more
   * without the model's thinking, which may be bound to a summary of which nothing is stored.
   */
  *#sendRepruned(original: Buffer, plain: Buffer): Work<void> {
    this.#reporter.fallbacks.push('past_refused' satisfies FallbackCode);
    const { rewritten, changed } = yield* this.#prune(plain, true);
    if (rewritten === null) return this.#reporter.report(null, true, yield* this.#send(original, [], [], null));
    const exchange = yield* this.#sendPruned(original, rewritten, changed, this.#refusalOfThinking(), true);
    this.#reporter.report(rewritten, changed === null, exchange);
  }

  /** Of a history that can only be sent again without the model's thinking, if a summary may be the cause. */
  #refusalOfThinking(): Refusal {
    const history = { rawHistory: true, acceptedBefore: true, isKept: false };
    return new Refusal(this.#options.dialect, history, false, () => this.#seam?.bare() ?? null);
  }

  *#sendPruned(
    original: Buffer,
    rewritten: RewrittenRequest,
    changed: Buffer | null,
    refusal?: Refusal,
    isAgain = false,
  ): Work<Exchange> {
    const { rewriter } = this.#options;
    this.#seam = yield* this.#enterSeams(rewritten, changed, isAgain);
    if (this.#seam?.isUnknown) refusal?.mayLackSummary(() => this.#seam?.bare() ?? null);
    let exchange = this.#seam?.swapped
      ? yield* this.#sendSwapped(this.#seam, rewritten, refusal)
      : yield* this.#sendPlain(changed, original, rewritten, refusal);
    if (this.#seam && refusal?.other && exchange.kind === 'declined') {
      yield* waitFor(this.#seam.lost());
      exchange = yield* this.#sendPlain(refusal.other, original, rewritten);
    }
    if (exchange.kind !== 'answered') return exchange;
    const isRefused = changed !== null && REFUSALS.has(exchange.status) && refusal?.toContinue !== true;
    if (isRefused) this.#reporter.fallbacks.push(`upstream_refused_${exchange.status}`);
    if (exchange.status < 300 && this.#to.operation.purpose === 'generate') {
      const answer = yield* waitFor(this.#reporter.tap.end());
      if (hasFailed(answer)) return exchange;
      if (this.#seam) this.#seam.ended(answer.usage);
      else this.#options.seams?.answered(this.#context.scope.project, rewritten.shownId, answer.usage);
      if (rewritten.isKept && answer.turn.id !== '') {
        yield* waitFor(rewriter.answered(this.#context.scope.project, rewritten, answer.turn));
      }
      rewriter.accepted(rewritten);
    }
    return exchange;
  }

  /** Sends a body; a changed one as plain JSON, regardless of the client's encoding. */
  #sendPlain(changed: Buffer | null, original: Buffer, rewritten: RewrittenRequest, decline?: Decline): Work<Exchange> {
    return this.#send(changed ?? original, [], changed === null ? [] : ['content-encoding'], rewritten, decline);
  }

  /** Hands a request to the part for summaries; `null` if it has nothing to do with them. */
  *#enterSeams(rewritten: RewrittenRequest, changed: Buffer | null, isAgain: boolean): Work<SeamExchange | null> {
    const { seams, dialect, modeOf, storeWait, hasProjects = false } = this.#options;
    const { scope, keyId, caller, isSubscription, isOff, client } = this.#context;
    const isAsked = isAgain || asksForSeams(this.#req);
    const { operation, upstream, path } = this.#to;
    if (!seams?.concerns(scope.project, dialect.name, isAsked) || operation.open || this.#signingScope !== null)
      return null;
    const { purpose } = operation;
    const body = changed ?? rewritten.received;
    const entered = seams.enter({
      requestId: this.#requestId,
      project: scope.project,
      scope,
      isOwned: hasProjects,
      keyId,
      caller,
      isSubscription,
      dialect,
      purpose,
      rewritten,
      path,
      client: scope.agent ?? client,
      isQuiet: isOff || this.#isShadow || !modeOf(scope.project).enabled,
      rawHeaders: this.#req.rawHeaders,
      body,
      beganMs: this.#beganMs,
      origin: upstream.origin,
      wait: async (cause) => storeWait?.wait(cause, body.length, this.#arrivedAt) ?? false,
      send: (to, headers, body, { timeoutMs, maxBytes }) => upstream.request(to, headers, body, timeoutMs, maxBytes),
    });
    return yield* waitFor(entered);
  }

  /** Sends a request with a summary in it, and once in another form if the provider refuses that. */
  *#sendSwapped(seam: SeamExchange, rewritten: RewrittenRequest, refusal?: Refusal): Work<Exchange> {
    const { swapped } = seam;
    const { body, beta, replaced } = swapped ?? { body: rewritten.received, beta: '', replaced: 0 };
    if (replaced === 0) return yield* this.#sendPlain(body, rewritten.received, rewritten, refusal);
    this.#reporter.replaced = replaced;
    const first = yield* this.#send(body, [], ['content-encoding'], rewritten, REFUSED_SUMMARY, beta);
    if (first.kind !== 'declined') return first;
    const again = yield* waitFor(seam.refused());
    this.#reporter.replaced = again.replaced;
    this.#reporter.fallbacks.push('summary_refused' satisfies FallbackCode);
    if (again.replaced > 0)
      return yield* this.#send(again.body, [], ['content-encoding'], rewritten, undefined, again.beta);
    return yield* this.#sendPlain(again.body, rewritten.received, rewritten, refusal);
  }

  *#prune(body: Buffer, historyRefused = false): Work<PrunedRequest> {
    const startedAt = performance.now();
    const { open, purpose, model } = this.#to.operation;
    const { dialect } = this.#options;
    const incoming = { body, dialect, purpose, model, historyRefused };
    const pruned = open
      ? yield* this.#pruneEnclosed(open, incoming)
      : yield* this.#step.pruned(this.#context, incoming);
    this.#reporter.fallbacks.push(...pruned.fallbacks);
    this.#reporter.pruneMs = performance.now() - startedAt;
    return pruned;
  }

  /** Prunes a request inside a body of another shape. */
  *#pruneEnclosed(open: NonNullable<Operation['open']>, incoming: IncomingRequest): Work<PrunedRequest> {
    const enclosed = openedBy(open, incoming.body);
    if (enclosed === null) return { rewritten: null, changed: null, fallbacks: ['body_not_understood'] };
    const { body, dialect } = enclosed;
    const pruned = yield* this.#step.pruned(this.#context, { ...incoming, body, dialect });
    return { ...pruned, changed: pruned.changed && enclosed.close(pruned.changed) };
  }

  *#send(
    body: Buffer | Readable,
    extraRequestHeaders: readonly string[],
    without: readonly string[],
    rewritten: RewrittenRequest | null,
    decline?: Decline,
    beta = '',
  ): Work<Exchange> {
    const saved = rewritten && !this.#isShadow ? savedBy(rewritten) : 0;
    const own = [...requestHeaders(this.#req.rawHeaders, without), ...extraRequestHeaders];
    const came = beta === '' ? own : withBeta(own, beta);
    this.#reporter.bytesOut = Buffer.isBuffer(body) ? body.length : 0;
    const { upstream, path } = this.#to;
    const { signing } = this.#options;
    const scope = this.#signingScope;
    const headers =
      signing && scope && Buffer.isBuffer(body)
        ? yield* waitFor(signing.sign(came, scope, upstream.origin, { url: path, body }))
        : came;
    const exchange = () =>
      upstream.exchange(
        {
          method: 'POST',
          path,
          headers,
          body,
          extraHeaders: ['x-mcp-pruner-request-id', this.#requestId, 'x-mcp-pruner-tokens-saved', String(saved)],
          onHead: (status, fields) => {
            this.#reporter.answered();
            this.#reporter.tap.head(headerIn(fields, 'content-encoding'));
            this.#reporter.fields = ownFields(fields);
            this.#seam?.head(status, fields);
          },
          onData: (chunk) => this.#reporter.tap.data(chunk),
          errorBody: this.#options.dialect.error,
          decline,
        },
        this.#res,
      );
    const { traces } = this.#options;
    return yield* waitFor(traces ? traces.part('upstream', exchange) : exchange());
  }
}

/** The request inside a body; `null` if the body is not understood. */
function openedBy(open: NonNullable<Operation['open']>, body: Buffer): Enclosed | null {
  try {
    return open(body);
  } catch {
    return null;
  }
}
