import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { type ErrorBody, sendUpstreamError } from '../openai-error.ts';
import { fieldIn, pairsOf, responseHeaders } from './headers.ts';
import { HeldAnswer } from './held-answer.ts';
import { isLostConnection, isUnexpectedContinue, upstreamErrorCode } from './upstream-error.ts';

/** What goes to the upstream. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
}

/** A request, its path below the upstream's own path, and what is done with its answer. */
export interface UpstreamRequest extends Outgoing {
  /** Says which answers are dropped; the exchange then ends as `declined`. */
  readonly decline?: Decline | undefined;
  /** Fields for the client beside the upstream's own. */
  readonly extraHeaders: readonly string[];
  /** Sees each piece of the answer on its way; must not keep or change it. */
  readonly onData?: (chunk: Buffer) => void;
  readonly onHead?: (contentEncoding: string) => void;
  /** How an error of our own looks; by default as OpenAI has it. */
  readonly errorBody?: ErrorBody;
}

/** Which answers are dropped instead of being passed on. */
export interface Decline {
  /** `hold`: its body decides, which waits until it is whole. */
  byStatus(status: number): 'pass' | 'drop' | 'hold';
  /** @param body - decoded; the beginning of one that is longer than errors are */
  byBody(status: number, body: Buffer): boolean;
}

/** How an exchange ended. */
export type Exchange =
  | { readonly kind: 'answered'; readonly status: number; readonly error: string | null }
  | { readonly kind: 'declined'; readonly status: number }
  | { readonly kind: 'client_gone'; readonly status: number }
  | { readonly kind: 'failed'; readonly status: number; readonly error: string };

/** An exchange of which the client has seen nothing, so that it can be tried again. */
export type Untold =
  /** The connection had served before and was closed under the request: nobody has read it. */
  | { readonly kind: 'lost' }
  /** The upstream said `100 Continue` unasked, at which undici gives up. */
  | { readonly kind: 'continued' };

/** The connection below, whichever client it belongs to. */
export interface Flow {
  abort(): void;
  pause(): void;
  resume(): void;
}

/** Reasons that node:http takes; it throws at others, such as one in Latin-1 that was read as UTF-8. */
const WRITABLE = /^[\t\x20-\x7e]*$/;

/** Passes one answer on to the client as it comes, with back-pressure. Settles once. */
export class PassOn {
  readonly #request: UpstreamRequest;
  readonly #res: ServerResponse;
  readonly #resolve: (exchange: Exchange | Untold) => void;
  readonly #mayTryAgain: boolean;
  #flow: Flow | null = null;
  #status = 0;
  #settled = false;
  #wrote = false;
  #held: HeldAnswer | null = null;

  /** Whether the request went over a connection that had served others before. */
  reused = false;

  constructor(
    request: UpstreamRequest,
    res: ServerResponse,
    mayTryAgain: boolean,
    resolve: (exchange: Exchange | Untold) => void,
  ) {
    this.#request = request;
    this.#res = res;
    this.#mayTryAgain = mayTryAgain;
    this.#resolve = resolve;
    res.on('close', this.#onClose);
    if (res.destroyed) this.#onClose();
  }

  start(flow: Flow): void {
    this.#flow = flow;
    if (this.#settled) flow.abort();
  }

  /** @param raw - name, value, name, value, … as strings or bytes */
  head(status: number, raw: unknown, statusMessage: string): void {
    if (status < 200 || this.#settled) return;
    this.#status = status;
    const verdict = this.#request.decline?.byStatus(status) ?? 'pass';
    if (verdict === 'drop') {
      this.#settle({ kind: 'declined', status });
      this.#flow?.abort();
      return;
    }
    if (verdict === 'hold') this.#held = new HeldAnswer(raw, statusMessage);
    else this.#passHead(status, raw, statusMessage);
  }

  #passHead(status: number, raw: unknown, statusMessage: string): void {
    const fields = responseHeaders(raw);
    this.#request.onHead?.(fieldIn(fields, 'content-encoding'));
    fields.push(...this.#request.extraHeaders);
    this.#res.on('drain', this.#onDrain);
    this.#res.sendDate = false;
    if (statusMessage && WRITABLE.test(statusMessage)) this.#res.writeHead(status, statusMessage, fields);
    else this.#res.writeHead(status, fields);
    // A body that is there already goes out with the head in one write; a stream's head must not wait for its first event.
    process.nextTick(this.#flushHead);
  }

  #flushHead = (): void => {
    if (!this.#wrote && !this.#res.writableEnded && !this.#res.destroyed) this.#res.flushHeaders();
  };

  data(chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#held) {
      if (!this.#held.take(chunk)) this.#release();
      return;
    }
    this.#wrote = true;
    this.#request.onData?.(chunk);
    if (!this.#res.write(chunk)) this.#flow?.pause();
  }

  end(trailers: unknown): void {
    if (this.#settled) return;
    const held = this.#held;
    if (held) {
      if (this.#request.decline?.byBody(this.#status, held.decoded())) {
        this.#settle({ kind: 'declined', status: this.#status });
        return;
      }
      this.#release();
    }
    if (Array.isArray(trailers) && trailers.length > 0 && !this.#res.hasHeader('content-length')) {
      this.#res.addTrailers(pairsOf(responseHeaders(trailers)));
    }
    this.#settle({ kind: 'answered', status: this.#status, error: null });
    this.#res.end();
  }

  /** The upstream did not answer, or broke off: an error where one can still be told, else the stream ends. */
  fail(cause: unknown): void {
    if (this.#settled) return;
    if (this.#status === 0 && this.#mayTryAgain) {
      const kind = isUnexpectedContinue(cause) ? 'continued' : this.reused && isLostConnection(cause) ? 'lost' : null;
      if (kind !== null) {
        this.#settle({ kind });
        return;
      }
    }
    const error = upstreamErrorCode(cause);
    this.#release();
    if (this.#status !== 0) {
      this.#settle({ kind: 'answered', status: this.#status, error });
      // The head may still wait for its first byte; the client is to see what the upstream sent before it broke off.
      if (!this.#wrote) this.#res.flushHeaders();
      this.#res.destroy();
      return;
    }
    for (const [name, value] of pairsOf(this.#request.extraHeaders)) this.#res.setHeader(name, value);
    this.#settle({ kind: 'failed', status: sendUpstreamError(this.#res, error, this.#request.errorBody), error });
  }

  /** Passes on what was held. */
  #release(): void {
    const held = this.#held;
    if (!held) return;
    this.#held = null;
    this.#passHead(this.#status, held.raw, held.statusMessage);
    for (const chunk of held.chunks) this.data(chunk);
  }

  #onDrain = (): void => this.#flow?.resume();

  #onClose = (): void => {
    if (this.#settled) return;
    this.#settle({ kind: 'client_gone', status: this.#status });
    this.#flow?.abort();
  };

  #settle(exchange: Exchange | Untold): void {
    this.#settled = true;
    this.#res.off('close', this.#onClose);
    this.#res.off('drain', this.#onDrain);
    this.#resolve(exchange);
  }
}
