import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { reasonOf } from '../core/failure-reason.ts';
import type { TextOutcome } from '../core/prefix-memo.ts';
import type { IncomingRequest } from '../core/read-request.ts';
import type { RefusedConversations } from '../core/refused-conversations.ts';
import type { RequestRewriter, Rewritten } from '../core/rewrite-request.ts';
import { within } from '../core/within.ts';
import type { Dialect, ProviderUsage, Purpose } from '../dialects/dialect.ts';
import { JsonShapeError } from '../json/cursor.ts';
import { collectBody } from './body.ts';
import { childOf } from './child-door.ts';
import { decodeBody } from './decode-body.ts';
import { requestHeaders } from './headers.ts';
import { sendError } from './openai-error.ts';
import type { Decline, Exchange } from './pass-on.ts';
import { REFUSALS, Refusal } from './refusal.ts';
import type { RewriteRoom } from './rewrite-room.ts';
import { scopeOf } from './scope.ts';
import { readAway, uploadOf } from './unread-upload.ts';
import type { Upstream } from './upstream.ts';
import { UsageTap } from './usage.ts';

export interface WireOptions {
  /** The wire that its requests and answers speak. */
  readonly dialect: Dialect;
  readonly rewriter: RequestRewriter;
  readonly refused: RefusedConversations;
  readonly upstream: Upstream;
  readonly enabled: boolean;
  /** Forward everything as it came and only report. */
  readonly shadow: boolean;
  /** Whether a web page of somebody else may have sent it: such a request goes as it came, unread and unstored. */
  readonly isForeign: (headers: IncomingHttpHeaders) => boolean;
  readonly maxBodyBytes: number;
  /** What is rewritten at once; requests that find no room in time go as they came. */
  readonly room: Pick<RewriteRoom, 'take'>;
  /** Longest time for finding, deciding and storing, in milliseconds; then the original goes. */
  readonly timeoutMs: number;
  readonly newRequestId: () => string;
  /** Told that a request has ended; the report is made when it is asked for. */
  readonly onReport: (report: () => RequestReport | Promise<RequestReport>) => void;
  /** A fault that was turned into a request forwarded as it came. */
  readonly onFault: (requestId: string, reason: string, cause: unknown) => void;
}

/** What happened to one request: counts, names and codes; never a text or a credential. */
export interface RequestReport {
  readonly requestId: string;
  /** The child that sent it, if one did. */
  readonly childId?: string | null;
  /** A web page of somebody else may have sent it; nothing of it may be stored. */
  readonly foreign: boolean;
  /** The format that it and its answer are in. */
  readonly wire: Dialect['name'];
  /** The conversation, derived from how it begins; `''` when the body was not looked at. */
  readonly conversationId: string;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: number;
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** The bytes forwarded were not the pruned ones (`shadow`, or sent again after a refusal). */
  readonly forwardedOriginal: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly fallbacks: readonly string[];
  readonly pruneMs: number;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  /** As the client saw it; 0 when it left before. */
  readonly status: number;
  readonly end: Exchange['kind'];
  readonly upstreamError: string | null;
  readonly usage: ProviderUsage | null;
}

/** How much of a model's name is reported. */
const MAX_MODEL_CHARS = 200;

/** How long a request waits for its turn where the request as it came is no way out. */
const CHECKED_PATIENCE_MS = 30_000;

/** Serves the requests of one wire on the bare request: collect, prune, forward, report. */
export class WireHandler {
  readonly #options: WireOptions;

  constructor(options: WireOptions) {
    const { onFault } = options;
    this.#options = {
      ...options,
      onFault: (requestId, reason, cause) => {
        try {
          onFault(requestId, reason, cause);
        } catch {
          // whoever is to be told has failed itself; the request must not
        }
      },
    };
  }

  /** Never rejects: whatever goes wrong inside, the client's own bytes go upstream. */
  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const requestId = this.#options.newRequestId();
    const exchange = new WireExchange(this.#options, req, res, requestId);
    try {
      await exchange.run();
    } catch (cause) {
      this.#options.onFault(requestId, 'internal_error', cause);
      const message = 'The proxy failed before the request could be forwarded.';
      sendError(res, 'internal_error', message, 502, this.#options.dialect.error);
    }
  }
}

/** One request on its way through. */
class WireExchange {
  readonly #options: WireOptions;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #requestId: string;
  readonly #startedAt = performance.now();
  readonly #fallbacks: string[] = [];
  readonly #tap: UsageTap;
  readonly #purpose: Purpose;
  #firstByteMs: number | null = null;
  #pruneMs = 0;
  #bytesIn = 0;
  #bytesOut = 0;
  #foreign = false;

  constructor(options: WireOptions, req: IncomingMessage, res: ServerResponse, requestId: string) {
    this.#options = options;
    this.#req = req;
    this.#res = res;
    this.#requestId = requestId;
    this.#tap = new UsageTap(options.dialect.answer());
    const [path = ''] = (req.url ?? '').split('?', 1);
    this.#purpose = options.dialect.claims(req.method ?? '', path) ?? 'generate';
  }

  async run(): Promise<void> {
    this.#foreign = this.#options.isForeign(this.#req.headers);
    if (this.#foreign) return this.#passThrough('foreign_origin');
    const collected = await collectBody(this.#req, this.#options.maxBodyBytes);
    if (collected.kind === 'gone') return this.#report(null, false, { kind: 'client_gone', status: 0 });
    if (collected.kind === 'too_large') return this.#passThrough('body_too_large', collected.start);
    await this.#forward(collected.body);
  }

  /** Streams a body that is not looked at. */
  async #passThrough(reason: string, start: readonly Buffer[] = []): Promise<void> {
    this.#fallbacks.push(reason);
    const declared = this.#req.headers['content-length'];
    const length = declared === undefined ? [] : ['content-length', declared];
    const exchange = await this.#send(uploadOf(this.#req, start), length, [], null);
    readAway(this.#req);
    this.#report(null, true, exchange);
  }

  async #forward(original: Buffer): Promise<void> {
    this.#bytesIn = original.length;
    const { dialect, shadow } = this.#options;
    const checked = dialect.binding === 'must'; // what was sent is sent again, off or not
    const pruned = this.#isOff() && !checked ? null : await this.#prune(original);
    if (pruned === null || (shadow && !checked)) {
      const rewritten = pruned?.rewritten ?? null;
      return this.#report(rewritten, true, await this.#send(original, [], [], rewritten));
    }
    const { rewritten, whole } = pruned;
    const refusal = new Refusal(dialect, rewritten, !whole && this.#purpose === 'generate');
    const first = await this.#sendPruned(original, pruned, refusal);
    if (first.kind !== 'declined') return this.#report(rewritten, whole, first);
    if (refusal.ofPast) return await this.#sendPast(original);
    this.#fallbacks.push(`upstream_refused_${first.status}`);
    await this.#options.refused
      .add(rewritten.prefixes)
      .catch((cause: unknown) => this.#options.onFault(this.#requestId, reasonOf(cause), cause));
    this.#report(rewritten, true, await this.#send(original, [], [], null));
  }

  /** The provider knows another past than the one that came: it goes as it must have been cut when it was new. */
  async #sendPast(original: Buffer): Promise<void> {
    this.#fallbacks.push('past_refused');
    const again = await this.#prune(original, 'decide');
    if (again === null) return this.#report(null, true, await this.#send(original, [], [], null));
    this.#report(again.rewritten, again.whole, await this.#sendPruned(original, again));
  }

  async #sendPruned(original: Buffer, { rewritten, whole }: Pruned, decline?: Decline): Promise<Exchange> {
    // What was changed is sent as plain JSON, whatever encoding the client had chosen.
    const exchange = whole
      ? await this.#send(original, [], [], rewritten, decline)
      : await this.#send(rewritten.body, [], ['content-encoding'], rewritten, decline);
    if (exchange.kind !== 'answered') return exchange;
    if (!whole && REFUSALS.has(exchange.status)) this.#fallbacks.push(`upstream_refused_${exchange.status}`);
    if (exchange.status < 300 && this.#purpose === 'generate') {
      const turn = this.#tap.turn();
      if (turn) await this.#options.rewriter.answered(rewritten, turn);
      await this.#options.rewriter.accepted(rewritten);
    }
    return exchange;
  }

  #isOff(): boolean {
    const off = this.#req.headers['x-mcp-pruner'];
    return !this.#options.enabled || (typeof off === 'string' && off.trim().toLowerCase() === 'off');
  }

  /** `null`: the body could not be looked at, or something failed; the original goes. */
  async #prune(original: Buffer, past: IncomingRequest['past'] = 'leave'): Promise<Pruned | null> {
    const { dialect, shadow, rewriter, maxBodyBytes, timeoutMs } = this.#options;
    const startedAt = performance.now();
    const checked = dialect.binding === 'must';
    // where the provider checks the past, the request as it came is no way out: that is worth waiting for
    const patienceMs = checked ? Math.max(CHECKED_PATIENCE_MS, timeoutMs) : timeoutMs;
    const release = await this.#options.room.take(original.length, timeoutMs);
    try {
      if (release === null) this.#fallbacks.push('overloaded');
      const decoded = await decodeBody(original, this.#req.headers['content-encoding'] ?? '', maxBodyBytes);
      if (!decoded) {
        this.#fallbacks.push('encoding_not_understood');
        return null;
      }
      // without room only what was sent before is sent again: its texts are not looked into
      const decides = !this.#isOff() && !shadow && release !== null;
      const request: IncomingRequest = {
        body: decoded,
        dialect,
        scope: scopeOf(this.#req.headers, this.#requestId),
        newTexts: this.#purpose !== 'generate' ? 'replay' : decides ? 'decide' : 'leave',
        past,
      };
      const dry = shadow && !checked && release !== null;
      const work = dry ? rewriter.rewriteDry(request) : rewriter.rewrite(request);
      const rewritten = await within(work, 3 * patienceMs);
      if (!rewritten) {
        this.#fallbacks.push('timeout');
        return null;
      }
      if (rewritten.refusedBefore) this.#fallbacks.push('left_alone');
      this.#fallbacks.push(...rewritten.fallbacks);
      return { rewritten, whole: rewritten.body === decoded };
    } catch (cause) {
      const reason = reasonOfFault(cause);
      this.#fallbacks.push(reason);
      this.#options.onFault(this.#requestId, reason, cause);
      return null;
    } finally {
      release?.();
      this.#pruneMs = performance.now() - startedAt;
    }
  }

  #send(
    body: Buffer | Readable,
    extraRequestHeaders: readonly string[],
    without: readonly string[],
    rewritten: Rewritten | null,
    decline?: Decline,
  ): Promise<Exchange> {
    const saved = rewritten && !this.#options.shadow ? savedBy(rewritten.outcomes) : 0;
    const headers = requestHeaders(this.#req.rawHeaders, without);
    headers.push(...extraRequestHeaders);
    this.#bytesOut = Buffer.isBuffer(body) ? body.length : 0;
    return this.#options.upstream.exchange(
      {
        method: 'POST',
        path: this.#options.upstream.pathFor(this.#req.url ?? '/'),
        headers,
        body,
        extraHeaders: ['x-mcp-pruner-request-id', this.#requestId, 'x-mcp-pruner-tokens-saved', String(saved)],
        onHead: (encoding) => {
          this.#firstByteMs ??= performance.now() - this.#startedAt;
          this.#tap.head(encoding);
        },
        onData: (chunk) => this.#tap.data(chunk),
        errorBody: this.#options.dialect.error,
        decline,
      },
      this.#res,
    );
  }

  #report(rewritten: Rewritten | null, forwardedOriginal: boolean, exchange: Exchange): void {
    const { onReport, onFault } = this.#options;
    const tap = this.#tap;
    const known: RequestReport = {
      requestId: this.#requestId,
      childId: childOf(this.#req),
      foreign: this.#foreign,
      wire: this.#options.dialect.name,
      conversationId: rewritten?.conversationId ?? '',
      model: (rewritten?.model ?? '').slice(0, MAX_MODEL_CHARS),
      stream: rewritten?.stream ?? false,
      messages: rewritten?.messages.length ?? 0,
      outcomes: rewritten?.outcomes ?? [],
      newFrom: rewritten?.newFrom ?? 0,
      forwardedOriginal,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      fallbacks: this.#fallbacks,
      pruneMs: this.#pruneMs,
      firstByteMs: this.#firstByteMs,
      totalMs: performance.now() - this.#startedAt,
      status: exchange.status,
      end: exchange.kind,
      upstreamError: 'error' in exchange ? exchange.error : null,
      usage: null,
    };
    const make = (): RequestReport | Promise<RequestReport> => {
      const usage = tap.usage();
      return usage instanceof Promise ? usage.then((later) => ({ ...known, usage: later })) : { ...known, usage };
    };
    try {
      onReport(make);
    } catch (cause) {
      onFault(this.#requestId, 'not_reported', cause);
    }
  }
}

function reasonOfFault(cause: unknown): string {
  return cause instanceof JsonShapeError ? cause.code : reasonOf(cause);
}

/** What became of a body, as plain JSON. */
interface Pruned {
  readonly rewritten: Rewritten;
  /** Nothing of it was changed. */
  readonly whole: boolean;
}

/** Tokens that pruning takes off a request. */
function savedBy(outcomes: readonly TextOutcome[]): number {
  return outcomes.reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0);
}
