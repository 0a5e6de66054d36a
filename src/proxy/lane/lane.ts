import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global one is looked up at each use
import type { FailureReporter } from '../../base/failures.ts';
import type { Clock } from '../../core/ports.ts';
import type { Passed } from '../../core/request/passing.ts';
import type { RequestPipeline } from '../../core/request/pipeline.ts';
import type { RememberedBody } from '../../core/request/prefix-memo.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import type { ByteBudget } from '../byte-budget.ts';
import { type MeasuredUsage, measuredBy } from '../doors/exchange-usage.ts';
import type { Charge } from '../doors/gatekeeper.ts';
import type { Meter } from '../doors/meter.ts';
import { AnswerTap } from '../report/answer-tap.ts';
import { headerIn, ownFields, requestHeaders } from '../upstream/headers.ts';
import type { Exchange, UpstreamRequest } from '../upstream/pass-on.ts';
import type { Admission, Heads } from './heads.ts';
import type { Ring } from './ring.ts';

export interface LaneOptions {
  readonly heads: Heads;
  readonly ring: Pick<Ring, 'add' | 'gone' | 'settle'>;
  readonly rewriter: Pick<RequestPipeline, 'pass'>;
  readonly clock: Clock;
  /** Budget of bodies in memory, from their first byte to the end of their answers. */
  readonly received: Pick<ByteBudget, 'enter' | 'leave'>;
  readonly maxBodyBytes: number;
  readonly newRequestId: () => string;
  /** Counts a request in flight of a run, and returns a function to call at its end. */
  readonly begin: (run: string) => () => void;
  readonly onFailure: FailureReporter;
}

/** Answers up to this size are kept until the request is reported, in bytes; longer ones are read as they stream. */
const MAX_KEPT_BYTES = 16 * 1024;
const NO_FIELDS: readonly string[] = [];
/** Missing in a request whose body was changed: it is plain JSON. */
const ENCODING: readonly string[] = ['content-encoding'];

/**
 * The short way of a request in which nothing is to be decided, or for which pruning is off: no promise, no queue, no
 * look-up. It takes a request whose head was admitted before, reads its body, and asks the pipeline whether the body
 * passes. If not, it puts the body back, and the request goes the usual way.
 */
export class Lane {
  readonly options: LaneOptions;
  /** Number of its requests that are not answered yet. */
  inProgress = 0;

  constructor(options: LaneOptions) {
    this.options = options;
  }

  /** @param otherwise - lets the request go the usual way */
  enter(req: IncomingMessage, res: ServerResponse, otherwise: () => void): void {
    const { heads, received, maxBodyBytes } = this.options;
    const size = Number(req.headers['content-length']);
    const admission = size > 0 && size <= maxBodyBytes ? heads.find(req) : null;
    if (admission === null || !received.enter(size, admission.context.keyId ?? '')) this.leave(req, otherwise);
    else new LaneExchange(this, req, res, admission, size, otherwise).collect();
  }

  /** Lets a request go the usual way once everything before it is remembered. */
  leave({ method }: IncomingMessage, otherwise: () => void): void {
    const settling = method === 'POST' ? this.options.ring.settle() : null;
    if (settling === null) otherwise();
    else void settling.then(otherwise);
  }

  /** Never throws: after a fault, the request goes the usual way. */
  pass({ context, to, options }: Admission, requestId: string, body: Buffer): Passed | null {
    const { rewriter, onFailure } = this.options;
    const { dialect, seams } = options;
    try {
      const { project, task, client, agent, origin } = context.scope;
      const scope = { project, task, requestId, client, agent, origin };
      const { sessions } = context;
      const passed = rewriter.pass(body, dialect, { scope, sessions, sender: context, model: to.operation.model });
      if (passed === null || seams?.concerns(project, dialect.name, false) !== true) return passed;
      // summaries are looked up on the usual way
      return seams.passes(project, { dialect, body, match: passed.match }) ? passed : null;
    } catch (cause) {
      onFailure('not_passed', cause);
      return null;
    }
  }
}

/**
 * A request of the lane while it is in flight, and its record afterwards, until it is reported. It is the request that
 * the upstream sends, so that no callback has to be made for it.
 */
export class LaneExchange implements UpstreamRequest {
  readonly method = 'POST';
  readonly admission: Admission;
  requestId = '';
  headers: string[] = [];
  extraHeaders: readonly string[] = NO_FIELDS;
  /** The body to forward. */
  body: Buffer | null = null;
  /** Set if the request repeats a remembered body. */
  repeated: RememberedBody | null = null;
  forwardedOriginal = true;
  /** Needed to parse the request afterwards; `null` if it is not parsed, or not any more. */
  passed: Passed | null = null;
  readonly bytesIn: number;
  bytesOut = 0;
  readonly startedAt = performance.now();
  pruneMs = 0;
  firstByteMs: number | null = null;
  /** Set once the exchange has ended, with its time in epoch milliseconds, and its duration. */
  end: Exchange | null = null;
  atMs = 0;
  totalMs = 0;
  /** See `EndedExchange`. */
  fields: readonly string[] = NO_FIELDS;
  /** Set if it counts against a budget. */
  meter: Meter | null = null;
  /** The received body in plain JSON, from the time it is complete until it was parsed. */
  received: Buffer | null = null;
  readonly #lane: Lane;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #otherwise: () => void;
  /** The body while it arrives. */
  #arriving: Buffer | null = null;
  #at = 0;
  /** Whether the body is complete: from then on, the upstream notices if the client disconnects. */
  #isWhole = false;
  /** Releases the memory of a decoded body. */
  #releaseDecoded: (() => void) | null = null;
  #endOfRun: (() => void) | null = null;
  /** Set if its tokens may count against the limits of a key. */
  #settle: ((tokens: number) => void) | null = null;
  #tap: AnswerTap | null = null;
  /** The answer as far as it arrived, if it is short and not encoded. */
  #kept: Buffer | null = null;

  constructor(
    lane: Lane,
    req: IncomingMessage,
    res: ServerResponse,
    admission: Admission,
    size: number,
    otherwise: () => void,
  ) {
    this.#lane = lane;
    this.#req = req;
    this.#res = res;
    this.admission = admission;
    this.bytesIn = size;
    this.#otherwise = otherwise;
  }

  get path(): string {
    return this.admission.to.path;
  }

  get errorBody(): UpstreamRequest['errorBody'] {
    return this.admission.options.dialect.error;
  }

  collect(): void {
    this.#req.on('data', this.#onChunk);
    this.#res.on('close', this.#onClose);
  }

  readonly #onChunk = (chunk: Buffer): void => {
    const size = this.bytesIn;
    if (this.#arriving === null && chunk.length === size) this.#onWhole(chunk);
    else {
      this.#arriving ??= Buffer.allocUnsafeSlow(size);
      chunk.copy(this.#arriving, this.#at);
      this.#at += chunk.length;
      if (this.#at >= size) this.#onWhole(this.#arriving);
    }
  };

  #onWhole(body: Buffer): void {
    this.#isWhole = true;
    const encoding = this.#req.headers['content-encoding'];
    if (encoding !== undefined) void this.#decode(body, encoding);
    else if (!this.#serve(body, body)) {
      this.#putBack(body);
      this.#leave();
    }
  }

  /** Never rejects. */
  async #decode(body: Buffer, encoding: string): Promise<void> {
    this.#putBack(body); // at once: the request ends with this turn of the event loop otherwise
    const { context, options } = this.admission;
    const { maxBodyBytes: maxBytes } = this.#lane.options;
    const of = { request: this.#req, body, encoding, holder: context.keyId };
    const decoded = await options.decoder.decode({ ...of, maxBytes });
    if (decoded.kind === 'unread') return this.#leave();
    this.#releaseDecoded = decoded.release;
    if (this.#serve(body, decoded.body)) this.#req.resume();
    else {
      options.decoder.keep(this.#req, decoded.body);
      this.#leave();
    }
  }

  /** The client disconnected before its body was complete. */
  readonly #onClose = (): void => {
    if (this.#isWhole) return;
    this.#release();
    const { ring, newRequestId } = this.#lane.options;
    ring.gone(this.admission, newRequestId(), this.startedAt);
  };

  /** Releases the memory for the body. */
  #release(): void {
    this.#releaseDecoded?.();
    this.#lane.options.received.leave(this.bytesIn, this.admission.context.keyId ?? '');
  }

  /**
   * @param plain - the decoded body
   * @returns `false` if the request has to go the usual way
   */
  #serve(body: Buffer, plain: Buffer): boolean {
    const { context, isOff } = this.admission;
    const { newRequestId, begin } = this.#lane.options;
    const beganAt = performance.now();
    this.requestId = newRequestId();
    const passed = isOff ? null : this.#lane.pass(this.admission, this.requestId, plain);
    if ((passed === null && !isOff) || !this.#isPaid(plain)) return false;
    this.pruneMs = performance.now() - beganAt;
    this.admission.lend?.(this.#req, this.#res);
    this.forwardedOriginal = passed === null || passed.body === plain;
    this.headers = requestHeaders(this.#req.rawHeaders, this.forwardedOriginal ? NO_FIELDS : ENCODING);
    const saved = String(passed?.tokensSaved ?? 0);
    this.extraHeaders = ['x-mcp-pruner-request-id', this.requestId, 'x-mcp-pruner-tokens-saved', saved];
    this.received = plain;
    this.body = passed === null || this.forwardedOriginal ? body : passed.body;
    this.bytesOut = this.body.length;
    this.repeated = passed?.repeated ?? null;
    this.passed = passed;
    if (context.run !== '') this.#endOfRun = begin(context.run);
    this.#lane.inProgress++;
    if (this.admission.charge) void this.#charge(this.admission.charge);
    else this.admission.to.upstream.send(this, this.#res);
    return true;
  }

  /** Sends the request if the key has room for it. Never rejects. */
  async #charge(charge: Charge): Promise<void> {
    this.#settle = await charge(this.#req, this.#res);
    if (this.#settle === null) this.#finish();
    else this.admission.to.upstream.send(this, this.#res);
  }

  /** Reserves dollars in the request's budgets, if it has any. */
  #isPaid(body: Buffer): boolean {
    const { toll } = this.admission;
    if (toll === undefined) return true;
    this.meter = toll({ req: this.#req, requestId: this.requestId, body, usage: this });
    this.meter?.take();
    return this.meter !== null;
  }

  /** See `UsageWatch.measured`. */
  measured(requestBytes: number): Promise<MeasuredUsage> {
    const { end } = this;
    const isWhole = end?.kind === 'answered' && end.error === null;
    const tap = this.#tap ?? new AnswerTap();
    return measuredBy(tap, { status: end?.status ?? 0, isSent: true, isWhole }, requestBytes);
  }

  #putBack(body: Buffer): void {
    this.#req.pause();
    this.#req.off('data', this.#onChunk);
    this.#req.unshift(body);
  }

  /** Lets the request go the usual way, with its body put back. */
  #leave(): void {
    this.#res.off('close', this.#onClose);
    this.#release();
    this.#lane.leave(this.#req, this.#otherwise);
  }

  onHead(_status: number, fields: readonly string[]): void {
    this.firstByteMs = performance.now() - this.startedAt;
    const encoding = headerIn(fields, 'content-encoding');
    const length = Number(headerIn(fields, 'content-length') || Number.NaN);
    if (encoding !== '' || !(length <= MAX_KEPT_BYTES) || this.meter !== null || this.#settle !== null) {
      this.#tap = new AnswerTap();
      this.#tap.head(encoding);
    }
    this.fields = ownFields(fields);
  }

  onData(chunk: Buffer): void {
    if (this.#tap) this.#tap.data(chunk);
    else this.#kept = this.#kept === null ? Buffer.from(chunk) : Buffer.concat([this.#kept, chunk]);
  }

  /** Records the end of the exchange, and releases what only the exchange needed. */
  ended(end: Exchange): void {
    const { clock, ring } = this.#lane.options;
    this.end = end;
    this.atMs = clock.nowMs();
    this.totalMs = performance.now() - this.startedAt;
    this.#finish();
    if (this.meter) void this.meter.close(end.status);
    const settle = this.#settle;
    if (settle) void this.measured(this.bytesIn).then(({ tokensIn, tokensOut }) => settle(tokensIn + tokensOut));
    ring.add(this);
  }

  #finish(): void {
    this.headers = [];
    this.body = null;
    this.#release();
    this.#lane.inProgress--;
    this.#endOfRun?.();
  }

  /** Bytes of bodies that the record holds. */
  get heldBytes(): number {
    return this.received === null ? 0 : this.received.length + (this.forwardedOriginal ? 0 : this.bytesOut);
  }

  /** Drops the bodies. */
  release(): void {
    this.passed = null;
    this.received = null;
  }

  /** Whether the provider cannot continue its stored history. */
  get isUnableToContinue(): boolean {
    return this.#kept !== null && this.admission.options.dialect.refusesToContinue?.(this.#kept) === true;
  }

  /** Facts reported by the answer; a promise if it is compressed. Never throws or rejects. */
  answer(): Answer | Promise<Answer> {
    if (this.#tap) return this.#tap.end();
    const reader = new AnswerReader();
    if (this.#kept) reader.whole(this.#kept);
    return reader.end();
  }
}
