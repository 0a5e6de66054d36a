import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher, Pool as UndiciPool } from 'undici';
// the whole of undici (fetch, caches, web sockets, mocks) would take three times as long to load and 9 MB more
import Pool from 'undici/lib/dispatcher/pool.js';
import { responseHeaders } from './headers.ts';
import { type ErrorBody, sendUpstreamError } from './openai-error.ts';

export interface UpstreamOptions {
  /** Such as `https://api.openai.com/v1`. */
  readonly url: string;
  readonly headersTimeoutMs: number;
  /** Longest silence in the middle of an answer. */
  readonly bodyTimeoutMs: number;
}

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query below the upstream's own path. */
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
  /** Asked once with the status; `true` drops this answer, and the exchange ends as `declined`. */
  readonly decline?: ((status: number) => boolean) | undefined;
  /** Fields for the client beside the upstream's own. */
  readonly extraHeaders: readonly string[];
  /** Sees each piece of the answer on its way; must not keep or change it. */
  readonly onData?: (chunk: Buffer) => void;
  readonly onHead?: (contentEncoding: string) => void;
  /** How an error of our own looks; by default as OpenAI has it. */
  readonly errorBody?: ErrorBody;
}

/** How an exchange ended. */
export type Exchange =
  | { readonly kind: 'answered'; readonly status: number; readonly error: string | null }
  | { readonly kind: 'declined'; readonly status: number }
  | { readonly kind: 'client_gone'; readonly status: number }
  | { readonly kind: 'failed'; readonly status: number; readonly error: string };

/** The hop to the model's provider: one pool of connections, raw bytes both ways. */
export class Upstream {
  readonly #pool: UndiciPool;
  readonly #basePath: string;
  readonly origin: string;

  constructor({ url, headersTimeoutMs, bodyTimeoutMs }: UpstreamOptions) {
    const { origin, pathname } = new URL(url);
    this.origin = origin;
    this.#basePath = pathname.replace(/(?<!\/)\/+$/, '');
    this.#pool = new Pool(origin, {
      pipelining: 1,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
      connect: { timeout: 10_000 },
      maxHeaderSize: 64 * 1024, // as much as a client may send
    });
  }

  /** Path and query at the upstream for a client's `/v1/…` path. */
  pathFor(clientPath: string): string {
    return this.#basePath + clientPath.replace(/^\/v1(?=\/|\?|$)/, '');
  }

  /** Sends a request and passes the answer on as it comes, with back-pressure. Never rejects. */
  exchange(request: UpstreamRequest, res: ServerResponse): Promise<Exchange> {
    return new Promise((resolve) => {
      const handler = new PassOn(request, res, resolve);
      try {
        this.#pool.dispatch(
          {
            method: request.method as Dispatcher.HttpMethod,
            path: request.path,
            headers: request.headers,
            body: request.body,
          },
          handler,
        );
      } catch (cause) {
        handler.fail(cause);
      }
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** Reasons that node:http takes; it throws at others, such as one in Latin-1 that was read as UTF-8. */
const WRITABLE = /^[\t\x20-\x7e]*$/;

/**
 * Passes one answer on to the client. It speaks undici's older handler interface: the newer one is a wrapper around it
 * that makes an object of the fields of every answer, which nobody here needs.
 */
class PassOn implements Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest;
  readonly #res: ServerResponse;
  readonly #resolve: (exchange: Exchange) => void;
  #abort: ((cause?: Error) => void) | null = null;
  #resume: (() => void) | null = null;
  #status = 0;
  #settled = false;
  #wrote = false;

  constructor(request: UpstreamRequest, res: ServerResponse, resolve: (exchange: Exchange) => void) {
    this.#request = request;
    this.#res = res;
    this.#resolve = resolve;
    res.on('close', this.#onClose);
    if (res.destroyed) this.#onClose();
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    if (this.#settled) abort(new Error('client gone'));
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void, statusMessage: string): boolean {
    if (status < 200 || this.#settled) return true;
    this.#status = status;
    if (this.#request.decline?.(status)) {
      this.#settle({ kind: 'declined', status });
      this.#abort?.(new Error('declined'));
      return true;
    }
    this.#resume = resume;
    const fields = responseHeaders(raw);
    this.#request.onHead?.(fieldIn(fields, 'content-encoding'));
    fields.push(...this.#request.extraHeaders);
    this.#res.on('drain', this.#onDrain);
    this.#res.sendDate = false;
    if (statusMessage && WRITABLE.test(statusMessage)) this.#res.writeHead(status, statusMessage, fields);
    else this.#res.writeHead(status, fields);
    // A body that is there already goes out with the head in one write; a stream's head must not wait for its first event.
    process.nextTick(this.#flushHead);
    return true;
  }

  #flushHead = (): void => {
    if (!this.#wrote && !this.#res.writableEnded && !this.#res.destroyed) this.#res.flushHeaders();
  };

  /** `false` asks for no more until the client has taken what it was given. */
  onData(chunk: Buffer): boolean {
    if (this.#settled) return true;
    this.#wrote = true;
    this.#request.onData?.(chunk);
    return this.#res.write(chunk);
  }

  onComplete(trailers: readonly (Buffer | string)[] | null): void {
    if (this.#settled) return;
    if (trailers && trailers.length > 0 && !this.#res.hasHeader('content-length')) {
      const fields = responseHeaders(trailers);
      this.#res.addTrailers(pairsOf(fields));
    }
    this.#settle({ kind: 'answered', status: this.#status, error: null });
    this.#res.end();
  }

  onError(cause: Error): void {
    this.fail(cause);
  }

  /** The upstream did not answer, or broke off: an error where one can still be told, else the stream ends. */
  fail(cause: unknown): void {
    if (this.#settled) return;
    const error = upstreamErrorCode(cause);
    if (this.#status !== 0) {
      this.#settle({ kind: 'answered', status: this.#status, error });
      // The head may still wait for its first byte; the client is to see what the upstream sent before it broke off.
      if (!this.#wrote) this.#res.flushHeaders();
      this.#res.destroy();
      return;
    }
    for (let i = 0; i + 1 < this.#request.extraHeaders.length; i += 2) {
      this.#res.setHeader(this.#request.extraHeaders[i] ?? '', this.#request.extraHeaders[i + 1] ?? '');
    }
    this.#settle({ kind: 'failed', status: sendUpstreamError(this.#res, error, this.#request.errorBody), error });
  }

  #onDrain = (): void => this.#resume?.();

  #onClose = (): void => {
    if (this.#settled) return;
    this.#settle({ kind: 'client_gone', status: this.#status });
    this.#abort?.(new Error('client gone'));
  };

  #settle(exchange: Exchange): void {
    this.#settled = true;
    this.#res.off('close', this.#onClose);
    this.#res.off('drain', this.#onDrain);
    this.#resolve(exchange);
  }
}

/** A field's value, `''` when it is not there. */
function fieldIn(fields: readonly string[], name: string): string {
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i]?.toLowerCase() === name) return fields[i + 1] ?? '';
  return '';
}

function pairsOf(fields: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) pairs.push([fields[i] ?? '', fields[i + 1] ?? '']);
  return pairs;
}

/** A short constant code for what went wrong on the way to the upstream. */
export function upstreamErrorCode(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown_host';
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' || code === 'EPIPE') return 'reset';
  if (code.startsWith('HPE_') || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'garbled';
  return code === '' ? 'error' : code.toLowerCase();
}
