import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';
import { decodedStart } from '../encodings.ts';
import { type ErrorBody, sendUpstreamError } from '../send-error.ts';
import { flushHead, headerIn, pairsOf, responseHeaders } from './headers.ts';
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
  readonly decline?: Refusal | undefined;
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
export interface Flow {
  abort(): void;
  pause(): void;
  resume(): void;
}

/** Whether node:http accepts a reason phrase; it throws for some, such as Latin-1 read as UTF-8. */
export function isReasonPhrase(text: string): boolean {
  return /^[\t\x20-\x7e]+$/.test(text);
}

/** Streams one answer to the client with back-pressure. Settles once. */
export class PassOn {
  readonly #request: UpstreamRequest;
  readonly #res: ServerResponse;
  readonly #resolve: (exchange: Exchange | Unanswered) => void;
  readonly #mayTryAgain: boolean;
  #flow: Flow | null = null;
  #status = 0;
  #settled = false;
  #wrote = false;
  #held: Held | null = null;
  /** Timer while the first event is awaited. */
  #peek: NodeJS.Timeout | null = null;

  /** Whether the request reused a connection. */
  reused = false;

  constructor(
    request: UpstreamRequest,
    res: ServerResponse,
    mayTryAgain: boolean,
    resolve: (exchange: Exchange | Unanswered) => void,
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
    if (!this.#res.write(chunk)) this.#flow?.pause();
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
    this.#flow?.abort();
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

  #onDrain = (): void => this.#flow?.resume();

  #onClose = (): void => {
    if (this.#settled) return;
    this.#settle({ kind: 'client_gone', status: this.#status });
    this.#flow?.abort();
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
    this.#resolve(exchange);
  }
}

/** The held part of an answer, decoded; empty if it cannot be decoded. */
function decodedOf({ raw, chunks }: Held): Buffer {
  const encoding = headerIn(responseHeaders(raw), 'content-encoding').trim().toLowerCase();
  return decodedStart(Buffer.concat(chunks), encoding, MAX_DECODED_BYTES);
}

/**
 * Statuses that reject a request's content, so that its other form may be accepted. Not 413, because the other form is
 * larger.
 */
export const REFUSALS: ReadonlySet<number> = new Set([400, 422]);

/** Decides which answers are dropped as refusals, to resend the request in another form. */
export class Refusal {
  readonly #dialect: Dialect;
  readonly #rawHistory: boolean;
  readonly #mayGoWhole: boolean;
  /** The provider rejected the history, so an earlier run must have pruned it. */
  ofHistory = false;
  /** The provider cannot continue its stored history. */
  toContinue = false;
  readonly #isKept: boolean;

  /** @param mayResend - the request was pruned and generates an answer (not a token count) */
  constructor(
    dialect: Dialect,
    rewritten: Pick<RewrittenRequest, 'rawHistory' | 'acceptedBefore' | 'isKept'>,
    mayResend: boolean,
  ) {
    const { rawHistory, acceptedBefore, isKept } = rewritten;
    this.#dialect = dialect;
    this.#rawHistory = rawHistory && dialect.verifiesHistory === 'always';
    this.#isKept = isKept;
    // after accepted cuts, an unpruned request would change the conversation's history
    this.#mayGoWhole = mayResend && !acceptedBefore;
  }

  /** `hold`: the complete body decides. `peek`: the first event decides. */
  byStatus(status: number): 'pass' | 'drop' | 'hold' | 'peek' {
    if (status === 200 && this.#mayGoWhole) return 'peek'; // gateways also send refusals with status 200
    if (!REFUSALS.has(status)) return 'pass';
    if (this.#rawHistory || this.#isKept) return 'hold';
    return this.#mayGoWhole ? 'drop' : 'pass';
  }

  /** @param body - decoded; only called for bodies up to 64 KiB */
  byBody(status: number, body: Buffer): boolean {
    this.toContinue = this.#isKept && this.#dialect.refusesToContinue?.(body) === true;
    if (this.toContinue) return false;
    this.ofHistory = this.#rawHistory && this.#dialect.refusesHistory?.(status, body) === true;
    return this.ofHistory || this.#mayGoWhole;
  }

  /**
   * Whether to drop a `peek`ed answer; `null` if its first event is incomplete.
   *
   * @param start - the received part, decoded
   * @param isWhole - the answer is complete
   */
  byStart(start: Buffer, isWhole: boolean): boolean | null {
    const reader = new AnswerReader();
    reader.data(start);
    if (isWhole) return reader.end().error === 'refused';
    const begin = reader.start();
    return begin === 'unknown' ? null : begin === 'error' && reader.end().error === 'refused';
  }
}
