import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { decodedStart } from '../encodings.ts';
import { type ErrorBody, sendUpstreamError } from '../send-error.ts';
import { flushHead, headerIn, pairsOf, responseHeaders } from './headers.ts';
import type { Decline } from './refusal.ts';
import { isLostConnection, isUnexpectedContinue, upstreamErrorCode } from './upstream-error.ts';

/** A request to the upstream. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
}

/** A request with its complete upstream path, and options for handling the answer. */
export interface UpstreamRequest extends RawRequest {
  /** Selects answers to drop; the exchange then ends as `declined`. */
  readonly decline?: Decline | undefined;
  /** Additional headers for the client. */
  readonly extraHeaders: readonly string[];
  /** Observes each chunk of the answer; must not retain or modify it. */
  readonly onData?: ((chunk: Buffer) => void) | undefined;
  /** Observes the response head as sent to the client; fields are name, value, name, value, … */
  readonly onHead?: (status: number, fields: readonly string[]) => void;
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

/** An exchange that can be retried, because the client has received nothing. */
export type Unanswered =
  /** A reused connection was closed before the request was read. */
  | { readonly kind: 'lost' }
  /** The upstream sent an unsolicited `100 Continue`, which undici rejects. */
  | { readonly kind: 'continued' };

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

/** Receives the end of an attempt to send a request. */
interface ExchangeOwner {
  settled(exchange: Exchange | Unanswered): void;
}

/**
 * Streams one answer to the client with back-pressure. Settles once. It is itself the handler that undici calls, in the
 * raw form: parsing the headers into an object and a closure per callback would cost more than the rest of the hop.
 */
export class PassOn {
  readonly #request: UpstreamRequest;
  readonly #res: ServerResponse;
  readonly #owner: ExchangeOwner;
  readonly #mayTryAgain: boolean;
  #flow: Flow | null = null;
  /** Set by undici instead of a flow. */
  #abortRequest: ((cause?: Error) => void) | null = null;
  #resumeAnswer: (() => void) | null = null;
  #paused = false;
  #status = 0;
  #settled = false;
  #wrote = false;
  #held: Held | null = null;
  /** Timer while the first event is awaited. */
  #peek: NodeJS.Timeout | null = null;

  /** Whether the request reused a connection. */
  reused = false;
  /** The hop that sends it, to which undici announces the connection. */
  hop: { starting: PassOn | null } | null = null;

  constructor(request: UpstreamRequest, res: ServerResponse, mayTryAgain: boolean, owner: ExchangeOwner) {
    this.#request = request;
    this.#res = res;
    this.#mayTryAgain = mayTryAgain;
    this.#owner = owner;
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
    fields.push(...this.#request.extraHeaders);
    this.#res.on('drain', this.#onDrain);
    this.#res.sendDate = false;
    if (isReasonPhrase(statusMessage)) this.#res.writeHead(status, statusMessage, fields);
    else this.#res.writeHead(status, fields);
    // An available body goes out with the head in one write, but a stream's head must not wait for its first event.
    process.nextTick(this.#flushHead);
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
    if (!this.#res.write(chunk)) this.#pause();
  }

  end(trailers: unknown): void {
    if (this.#settled) return;
    const held = this.#held;
    if (held && this.#isDeclined(held)) {
      this.#settle({ kind: 'declined', status: this.#status });
      return;
    }
    this.#release();
    if (Array.isArray(trailers) && trailers.length > 0 && !this.#res.hasHeader('content-length')) {
      this.#res.addTrailers(pairsOf(responseHeaders(trailers)));
    }
    this.#settle({ kind: 'answered', status: this.#status, error: null });
    this.#res.end();
  }

  /** Handles an upstream failure: sends an error if no head was sent yet; otherwise aborts the client's answer too. */
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
    this.#flow?.pause();
  }

  /** Sends the held answer to the client. */
  #release(): void {
    this.#endPeek();
    const held = this.#held;
    if (!held) return;
    this.#held = null;
    this.#passHead(this.#status, held.raw, held.statusMessage);
    for (const chunk of held.chunks) this.data(chunk);
  }

  #onDrain = (): void => {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#flow) this.#flow.resume();
    else this.#resumeAnswer?.();
  };

  #onClose = (): void => {
    if (this.#settled) return;
    this.#settle({ kind: 'client_gone', status: this.#status });
    this.#abort();
  };

  #endPeek(): void {
    if (this.#peek) clearTimeout(this.#peek);
    this.#peek = null;
  }

  #settle(exchange: Exchange | Unanswered): void {
    this.#settled = true;
    this.#endPeek();
    this.#res.off('close', this.#onClose);
    this.#res.off('drain', this.#onDrain);
    this.#owner.settled(exchange);
  }
}

/** The held part of an answer, decoded; empty if it cannot be decoded. */
function decodedOf({ raw, chunks }: Held): Buffer {
  const encoding = headerIn(responseHeaders(raw), 'content-encoding').trim().toLowerCase();
  return decodedStart(Buffer.concat(chunks), encoding, MAX_DECODED_BYTES);
}
