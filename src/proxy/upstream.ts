import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import { rawStrings, responseHeaders } from './headers.ts';
import { sendUpstreamError } from './openai-error.ts';

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
  readonly decline?: (status: number) => boolean;
  /** Fields for the client beside the upstream's own. */
  readonly extraHeaders: readonly string[];
  /** Sees each piece of the answer on its way; must not keep or change it. */
  readonly onData?: (chunk: Buffer) => void;
  readonly onHead?: (status: number, contentType: string, contentEncoding: string) => void;
}

/** How an exchange ended. */
export type Exchange =
  | { readonly kind: 'answered'; readonly status: number; readonly error: string | null }
  | { readonly kind: 'declined'; readonly status: number }
  | { readonly kind: 'client_gone'; readonly status: number }
  | { readonly kind: 'failed'; readonly status: number; readonly error: string };

/** The hop to the model's provider: one pool of connections, raw bytes both ways. */
export class Upstream {
  readonly #pool: Pool;
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

/** Passes one answer on to the client. */
class PassOn implements Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest;
  readonly #res: ServerResponse;
  readonly #resolve: (exchange: Exchange) => void;
  #controller: Dispatcher.DispatchController | null = null;
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

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('client gone'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    statusMessage?: string,
  ): void {
    if (status < 200 || this.#settled) return;
    this.#status = status;
    if (this.#request.decline?.(status)) {
      this.#settle({ kind: 'declined', status });
      controller.abort(new Error('declined'));
      return;
    }
    this.#request.onHead?.(status, String(headers['content-type'] ?? ''), String(headers['content-encoding'] ?? ''));
    const raw = [...responseHeaders(rawStrings(controller.rawHeaders)), ...this.#request.extraHeaders];
    this.#res.on('drain', this.#onDrain);
    this.#res.sendDate = false;
    if (statusMessage && WRITABLE.test(statusMessage)) this.#res.writeHead(status, statusMessage, raw);
    else this.#res.writeHead(status, raw);
    // A body that is there already goes out with the head in one write; a stream's head must not wait for its first event.
    process.nextTick(this.#flushHead);
  }

  #flushHead = (): void => {
    if (!this.#wrote && !this.#res.writableEnded && !this.#res.destroyed) this.#res.flushHeaders();
  };

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#wrote = true;
    this.#request.onData?.(chunk);
    if (!this.#res.write(chunk)) controller.pause();
  }

  onResponseEnd(
    _controller: Dispatcher.DispatchController,
    trailers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#settled) return;
    if (Object.keys(trailers).length > 0 && !this.#res.hasHeader('content-length')) {
      this.#res.addTrailers(trailers as Record<string, string>);
    }
    this.#settle({ kind: 'answered', status: this.#status, error: null });
    this.#res.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: Error): void {
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
    this.#settle({ kind: 'failed', status: sendUpstreamError(this.#res, error), error });
  }

  #onDrain = (): void => this.#controller?.resume();

  #onClose = (): void => {
    if (this.#settled) return;
    this.#settle({ kind: 'client_gone', status: this.#status });
    this.#controller?.abort(new Error('client gone'));
  };

  #settle(exchange: Exchange): void {
    this.#settled = true;
    this.#res.off('close', this.#onClose);
    this.#res.off('drain', this.#onDrain);
    this.#resolve(exchange);
  }
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
