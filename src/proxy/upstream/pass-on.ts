import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { decodedStart } from '../encodings.ts';
import { type ErrorBody, sendUpstreamError } from '../send-error.ts';
import { flushHead, headerIn, pairsOf, responseHeaders } from './headers.ts';
import type { Decline } from './refusal.ts';
import { isLostConnection, isUnexpectedContinue, upstreamErrorCode } from './upstream-error.ts';

/** A request to the upstream, as it is sent. */
export interface RawRequest {
  /** For example `https://api.openai.com`. */
  readonly origin: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
}

/** A request with its complete upstream path, and options for handling the answer. */
export interface UpstreamRequest extends Omit<RawRequest, 'origin'> {
  /** Selects answers to drop; the exchange then ends as `declined`. */
  readonly decline?: Decline | undefined;
  /** Additional headers for the client. */
  readonly extraHeaders: readonly string[];
  /** Observes each chunk of the answer; must not retain or modify it. */
  readonly onData?: ((chunk: Buffer) => void) | undefined;
  /** Observes the response head as sent to the client; fields are name, value, name, value, … */
  readonly onHead?: (status: number, fields: readonly string[]) => void;
  /** Called once, with the end of the exchange. */
  readonly ended: (exchange: Exchange) => void;
  /** The error format. Default: OpenAI's. */
  readonly errorBody?: ErrorBody;
}

/** Error bodies are a few hundred bytes long; longer answers are passed on. */
const MAX_HELD_BYTES = 64 * 1024;
/** Limits in bytes and time for holding an answer back until its first event is complete. */
const MAX_PEEKED_BYTES = 16 * 1024;
const MAX_PEEK_MS = 2_000;
/** Maximum decoded size of a held answer. */
const MAX_DECODED_BYTES = 256 * 1024;

/** An answer held back until its content decides whether to pass it on. */
interface Held {
  /** Headers as received. */
  readonly raw: unknown;
  readonly statusMessage: string;
  readonly maxBytes: number;
  readonly chunks: Buffer[];
  size: number;
}

/** How an exchange ended. */
export type Exchange =
  | { readonly kind: 'answered'; readonly status: number; readonly error: string | null }
  | { readonly kind: 'declined'; readonly status: number }
  | { readonly kind: 'client_gone'; readonly status: number }
  | { readonly kind: 'failed'; readonly status: number; readonly error: string };

/**
 * Why a request can be sent again: a reused connection was closed before the request was read, or the upstream sent an
 * unsolicited `100 Continue`, which undici rejects.
 */
export type Unanswered = 'lost' | 'continued';

/** The underlying connection of either HTTP client. */
interface Flow {
  abort(): void;
  pause(): void;
  resume(): void;
}

/** Whether node:http accepts a reason phrase; it throws for some, such as Latin-1 read as UTF-8. */
export function isReasonPhrase(text: string): boolean {
  return /^[\t\x20-\x7e]+$/.test(text);
}

/** Sends a request again whose first attempt brought nothing to the client. */
interface Resender {
  again(kind: Unanswered, passOn: PassOn): void;
  /** Called if the upstream sent an unsolicited `100 Continue`. */
  expectsContinue(): void;
}

/**
 * Streams one answer to the client with back-pressure. Ends once. It is itself the handler that undici calls, in the
 * raw form: parsing the headers into an object and a closure per callback would cost more than the rest of the hop.
 */
export class PassOn {
  /** The request as it is sent. */
  readonly sent: RawRequest;
  readonly #request: UpstreamRequest;
  readonly #res: ServerResponse;
  /** Set as long as the request may be sent again. */
  #resender: Resender | null;
  readonly #upstream: Pick<Resender, 'expectsContinue'>;
  #flow: Flow | null = null;
  /** Set by undici instead of a flow. */
  #abortRequest: ((cause?: Error) => void) | null = null;
  #resumeAnswer: (() => void) | null = null;
  #paused = false;
  #status = 0;
  #settled = false;
  #wrote = false;
  /** Bytes that the answer still has to bring, if it declares its length. */
  #left = Number.NaN;
  /** Whether it brought them all. */
  #isComplete = false;
  #held: Held | null = null;
  /** Timer while the first event is awaited. */
  #peek: NodeJS.Timeout | null = null;

  /** Whether the request reused a connection. */
  reused = false;
  /** The hop that sends it, to which undici announces the connection. */
  hop: { starting: PassOn | null } | null = null;
  /** Called after the exchange has ended, if a connection was opened for it. */
  onEnd: (() => void) | null = null;

  constructor(request: UpstreamRequest, sent: RawRequest, res: ServerResponse, upstream: Resender) {
    this.#request = request;
    this.sent = sent;
    this.#res = res;
    this.#resender = sent.body instanceof Readable ? null : upstream;
    this.#upstream = upstream;
    res.on('close', this.#onClose);
    if (res.destroyed) this.#onClose();
  }

  start(flow: Flow): void {
    this.#flow = flow;
    if (this.#settled) flow.abort();
  }

  onConnect(abort: (cause?: Error) => void): void {
    if (this.hop) this.hop.starting = this;
    this.#abortRequest = abort;
    if (this.#settled) this.#abort();
  }

  onHeaders(status: number, raw: readonly Buffer[], resume: () => void, statusMessage: string): boolean {
    this.#resumeAnswer = resume;
    this.head(status, raw, statusMessage);
    return !this.#paused;
  }

  onData(chunk: Buffer): boolean {
    this.data(chunk);
    return !this.#paused;
  }

  onComplete(trailers: readonly string[] | null): void {
    this.end(trailers);
  }

  onError(cause: Error): void {
    this.fail(cause);
  }

  /** @param raw - name, value, name, value, … as strings or bytes */
  head(status: number, raw: unknown, statusMessage: string): void {
    if (status < 200 || this.#settled) return;
    this.#status = status;
    const verdict = this.#request.decline?.byStatus(status) ?? 'pass';
    if (verdict === 'drop') this.#drop();
    if (verdict === 'pass') this.#passHead(status, raw, statusMessage);
    if (verdict === 'drop' || verdict === 'pass') return;
    const maxBytes = verdict === 'peek' ? MAX_PEEKED_BYTES : MAX_HELD_BYTES;
    this.#held = { raw, statusMessage, maxBytes, chunks: [], size: 0 };
    if (verdict === 'peek') this.#peek = setTimeout(() => this.#release(), MAX_PEEK_MS);
  }

  #passHead(status: number, raw: unknown, statusMessage: string): void {
    const fields = responseHeaders(raw);
    this.#request.onHead?.(status, fields);
    this.#left = Number(headerIn(fields, 'content-length') || Number.NaN);
    for (const field of this.#request.extraHeaders) fields.push(field);
    this.#res.sendDate = false;
    if (statusMessage !== 'OK' && !isReasonPhrase(statusMessage)) this.#res.writeHead(status, fields);
    else this.#res.writeHead(status, statusMessage, fields);
    // An available body goes out with the head in one write, but a stream's head must not wait for its first event.
    if (!(this.#left > 0)) process.nextTick(this.#flushHead);
  }

  #flushHead = (): void => {
    if (!this.#wrote) flushHead(this.#res);
  };

  data(chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#held) {
      this.#hold(this.#held, chunk);
      return;
    }
    this.#wrote = true;
    this.#request.onData?.(chunk);
    this.#left -= chunk.length;
    if (this.#left === 0) {
      this.#isComplete = true;
      this.#res.end(chunk); // an answer in one piece goes out in one write
    } else if (!this.#res.write(chunk)) this.#pause();
  }

  end(trailers: unknown): void {
    if (this.#settled) return;
    const held = this.#held;
    if (held && this.#isDeclined(held)) {
      this.#settle({ kind: 'declined', status: this.#status });
      return;
    }
    if (held) this.#release();
    if (Array.isArray(trailers) && trailers.length > 0 && !this.#res.hasHeader('content-length')) {
      this.#res.addTrailers(pairsOf(responseHeaders(trailers)));
    }
    this.#settle({ kind: 'answered', status: this.#status, error: null });
    if (!this.#isComplete) this.#res.end();
  }

  /** Handles an upstream failure: sends an error if no head was sent yet; otherwise aborts the client's answer too. */
  fail(cause: unknown): void {
    if (this.#settled) return;
    const resender = this.#resender;
    if (this.#status === 0 && resender !== null) {
      const kind = isUnexpectedContinue(cause) ? 'continued' : this.reused && isLostConnection(cause) ? 'lost' : null;
      if (kind !== null) {
        this.#resender = null;
        this.#abortRequest = null;
        resender.again(kind, this);
        return;
      }
    }
    const error = upstreamErrorCode(cause);
    if (error === 'unexpected_continue') this.#upstream.expectsContinue();
    this.#release();
    if (this.#status !== 0) {
      this.#settle({ kind: 'answered', status: this.#status, error });
      if (this.#isComplete) return;
      // The head may be unsent; the client must receive what the upstream sent before it failed.
      if (!this.#wrote) flushHead(this.#res);
      this.#res.destroy();
      return;
    }
    for (const [name, value] of pairsOf(this.#request.extraHeaders)) this.#res.setHeader(name, value);
    this.#settle({ kind: 'failed', status: sendUpstreamError(this.#res, error, this.#request.errorBody), error });
  }

  /** Holds a chunk back; releases the answer if it is too long, or if its first event allows that. */
  #hold(held: Held, chunk: Buffer): void {
    held.chunks.push(Buffer.from(chunk));
    held.size += chunk.length;
    const isLong = held.size > held.maxBytes;
    const isDeclined = this.#peek && !isLong ? this.#request.decline?.byStart(decodedOf(held), false) : null;
    if (isDeclined) this.#drop();
    else if (isLong || isDeclined === false) this.#release();
  }

  /** Whether to drop a fully held answer. */
  #isDeclined(held: Held): boolean {
    const { decline } = this.#request;
    const body = decodedOf(held);
    return (this.#peek ? decline?.byStart(body, true) : decline?.byBody(this.#status, body)) === true;
  }

  #drop(): void {
    this.#settle({ kind: 'declined', status: this.#status });
    this.#abort();
  }

  #abort(): void {
    if (this.#flow) this.#flow.abort();
    else this.#abortRequest?.(new Error('the request was aborted'));
  }

  #pause(): void {
    this.#paused = true;
    this.#res.once('drain', this.#onDrain);
    this.#flow?.pause();
  }

  /** Sends the held answer to the client. */
  #release(): void {
    const held = this.#held;
    if (!held) return;
    this.#endPeek();
    this.#held = null;
    this.#passHead(this.#status, held.raw, held.statusMessage);
    for (const chunk of held.chunks) this.data(chunk);
  }

  #onDrain = (): void => {
    this.#paused = false;
    if (this.#flow) this.#flow.resume();
    else this.#resumeAnswer?.();
  };

  #onClose = (): void => {
    if (this.#settled) return;
    const status = this.#status;
    this.#settle(this.#isComplete ? { kind: 'answered', status, error: null } : { kind: 'client_gone', status });
    this.#abort();
  };

  #endPeek(): void {
    if (this.#peek) clearTimeout(this.#peek);
    this.#peek = null;
  }

  #settle(exchange: Exchange): void {
    this.#settled = true;
    if (this.#peek) this.#endPeek();
    this.#request.ended(exchange);
    this.onEnd?.();
  }
}

/** The held part of an answer, decoded; empty if it cannot be decoded. */
function decodedOf({ raw, chunks }: Held): Buffer {
  const encoding = headerIn(responseHeaders(raw), 'content-encoding').trim().toLowerCase();
  return decodedStart(Buffer.concat(chunks), encoding, MAX_DECODED_BYTES);
}
