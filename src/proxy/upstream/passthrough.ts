import type { ClientRequest, Agent as HttpAgent, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Request, RequestHandler, Response } from 'express';
import { createProxyMiddleware, type Options } from 'http-proxy-middleware';
import { tapOf } from '../doors/exchange-usage.ts';
import { sendUpstreamError } from '../send-error.ts';
import type { Destinations } from './destinations.ts';
import { flushHead, headerIn, type LoopGuard, pairsOf, requestHeaders, responseHeaders } from './headers.ts';
import { isReasonPhrase } from './pass-on.ts';
import { discardUpload, heldUpload } from './unread-upload.ts';
import { agentFor, type Connection, MAX_HEADER_BYTES } from './upstream.ts';
import { isLostConnection, upstreamErrorCode } from './upstream-error.ts';

interface PassthroughOptions {
  readonly connection: Connection;
  readonly destinations: Destinations;
  readonly hops: LoopGuard;
  /** Maximum time until the upstream's answer begins, in milliseconds; 0 for no limit. */
  readonly headersTimeoutMs: number;
  /** Maximum pause within an answer, in milliseconds; 0 for no limit. */
  readonly bodyTimeoutMs: number;
  readonly onUpstreamError: (code: string) => void;
}

/** Bodies up to this size are kept until answered, so that they can be resent if the upstream has not read them. */
const KEPT_BODY_BYTES = 1024 * 1024;

/**
 * Forwards all requests that are not pruned, unchanged and streamed in both directions.
 *
 * http-proxy-middleware opens connections, streams bodies of any size with back-pressure, aborts the upstream request
 * when the client disconnects, and reports failures in one place. Heads are written here, because http-proxy would join
 * repeated fields and lower-case names.
 */
export function passthrough(options: PassthroughOptions): RequestHandler {
  const forwarder = new Forwarder(options);
  // Without an agent, each request would open a new connection.
  const agent = agentFor(options.connection);
  const forward = createProxyMiddleware<Request, Response>(forwarder.options(agent));
  return (req, res, next) => {
    delete req.headers.expect; // handled on the client's connection; with it, http-proxy would not emit `proxyReq`
    forwarder.keep(req);
    if (options.connection.tunnel === null) void forward(req, res, next);
    else forwarder.sendHeld(req, res, agent);
  };
}

/** State of a running request. */
interface RunningRequest {
  /** Body chunks read so far; `null` if the body is too large to keep. */
  readonly kept: Buffer[] | null;
  readonly stopKeeping: () => void;
  /** Releases a body held back until the request head is complete. */
  begin: () => void;
  again: boolean;
  late: boolean;
  sent: ClientRequest | null;
  answer: IncomingMessage | null;
}

class Forwarder {
  readonly #options: PassthroughOptions;
  readonly #underWay = new WeakMap<IncomingMessage, RunningRequest>();

  constructor(options: PassthroughOptions) {
    this.#options = options;
  }

  /** Keeps body chunks from now on. */
  keep(req: IncomingMessage): void {
    const kept = isSmall(req) ? ([] as Buffer[]) : null;
    const onData = (chunk: Buffer): void => void kept?.push(chunk);
    if (kept) {
      req.pause(); // otherwise chunks would flow before the stream is piped
      req.on('data', onData);
    }
    const stopKeeping = (): void => void req.off('data', onData);
    this.#underWay.set(req, {
      kept,
      stopKeeping,
      begin: () => {},
      again: false,
      late: false,
      sent: null,
      answer: null,
    });
  }

  options(agent: HttpAgent, buffer?: Readable): Options<Request, Response> {
    const { connection, headersTimeoutMs } = this.#options;
    return {
      target: connection.origin,
      changeOrigin: true,
      agent,
      proxyTimeout: headersTimeoutMs,
      ssl: { maxHeaderSize: MAX_HEADER_BYTES }, // http-proxy uses these options with and without TLS
      buffer,
      selfHandleResponse: true,
      on: {
        proxyReq: (proxyReq, req, res) => this.#onSending(proxyReq, req, res),
        proxyRes: (proxyRes, req, res) => this.#onAnswer(proxyRes, req, res),
        error: (cause, req, res) => {
          if (isResponse(res)) this.#onError(cause, req, res);
          else res.destroy();
        },
      },
    };
  }

  #onSending(proxyReq: ClientRequest, req: Request, res: Response): void {
    const underWay = this.#underWay.get(req);
    if (underWay) underWay.sent = proxyReq;
    proxyReq.path = this.#options.connection.prefix + this.#pathOf(req); // http-proxy joins paths differently
    replaceFields(proxyReq, this.#fieldsFor(req));
    proxyReq.once('timeout', () => {
      if (underWay) underWay.late = true;
    });
    // http-proxy does not forward an answer that switches protocols, so the client is answered here.
    proxyReq.once('upgrade', (_answer, socket) => {
      socket.destroy();
      this.#fail(req, res, 'garbled');
    });
    res.once('close', () => proxyReq.destroy());
    underWay?.begin();
  }

  /** Fields for the upstream, in the client's order and spelling: name, value, … */
  #fieldsFor(req: Request): string[] {
    const { connection, hops } = this.#options;
    // an outbound proxy needs the upstream's host even if a signature covers the client's
    const replaced = connection.headers.length > 0 ? ['host'] : [];
    const fields = [...requestHeaders(req.rawHeaders, replaced), ...connection.headers, 'via', hops.own];
    if (headerIn(fields, 'host') === '') fields.unshift('host', new URL(connection.origin).host);
    const length = headerIn(req.rawHeaders, 'content-length');
    if (isChunked(req)) fields.push('transfer-encoding', 'chunked');
    else if (length !== '') fields.push('content-length', length);
    return fields;
  }

  #pathOf(req: Request): string {
    const to = this.#options.destinations.of(req);
    return to && 'path' in to ? to.path : req.url;
  }

  #onAnswer(proxyRes: IncomingMessage, req: Request, res: Response): void {
    const underWay = this.#underWay.get(req);
    if (underWay) underWay.answer = proxyRes;
    underWay?.stopKeeping();
    underWay?.sent?.setTimeout(this.#options.bodyTimeoutMs);
    const { statusCode = 502, statusMessage = '', rawHeaders } = proxyRes;
    const fields = responseHeaders(rawHeaders);
    const tap = tapOf(res);
    tap?.head(headerIn(fields, 'content-encoding'));
    if (tap) proxyRes.on('data', (chunk: Buffer) => tap.data(chunk));
    res.sendDate = false;
    if (isReasonPhrase(statusMessage)) res.writeHead(statusCode, statusMessage, fields);
    else res.writeHead(statusCode, fields);
    setImmediate(() => flushHead(res)); // together with the first body bytes, if available
    proxyRes.once('end', () => {
      // `pipe` ends the answer afterwards
      const trailers = responseHeaders(proxyRes.rawTrailers);
      if (trailers.length > 0 && res.chunkedEncoding) res.addTrailers(pairsOf(trailers));
      discardUpload(req);
    });
    proxyRes.once('close', () => {
      // A broken answer must not look like one that continues.
      if (!proxyRes.complete && !res.destroyed) this.#fail(req, res, 'reset');
    });
    proxyRes.pipe(res);
  }

  #onError(cause: Error, req: Request, res: Response): void {
    const underWay = this.#underWay.get(req);
    if (underWay?.answer?.complete) return; // the rest of an already answered request could not be sent
    if (
      underWay?.kept &&
      !underWay.again &&
      underWay.sent?.reusedSocket &&
      !underWay.answer &&
      isLostConnection(cause)
    ) {
      underWay.again = true;
      underWay.stopKeeping();
      this.#sendAgain(req, res, underWay.kept);
      return;
    }
    this.#fail(req, res, upstreamErrorCode(cause));
  }

  /** Resends over a new connection, because the reused one was closed before the request was read. */
  #sendAgain(req: Request, res: Response, kept: readonly Buffer[]): void {
    const agent = agentFor(this.#options.connection);
    res.once('close', () => agent.destroy());
    this.sendHeld(req, res, agent, kept);
  }

  /**
   * Sends a request whose body is held back until its head is complete. Otherwise, on slow connections (tunnels, new
   * ones), the first body chunk would send the head with unfiltered client headers.
   */
  sendHeld(req: Request, res: Response, agent: HttpAgent, kept: readonly Buffer[] = []): void {
    const { upload, begin } = heldUpload(req, kept);
    const underWay = this.#underWay.get(req);
    if (underWay) underWay.begin = begin;
    const forward = createProxyMiddleware<Request, Response>(this.options(agent, upload));
    void forward(req, res, () => {});
  }

  #fail(req: Request, res: Response, cause: string): void {
    const code = this.#underWay.get(req)?.late ? 'timeout' : cause;
    this.#options.onUpstreamError(code);
    if (this.#underWay.get(req)?.answer) {
      flushHead(res); // the client must receive what the upstream sent before it broke off
      res.destroy();
    } else sendUpstreamError(res, code, this.#options.destinations.errorBodyFor(req));
    discardUpload(req);
  }
}

function isSmall(req: IncomingMessage): boolean {
  return !isChunked(req) && Number(req.headers['content-length'] ?? 0) <= KEPT_BODY_BYTES;
}

/** Checks the raw headers, because http-proxy modifies the parsed ones. */
function isChunked({ rawHeaders }: IncomingMessage): boolean {
  return headerIn(rawHeaders, 'transfer-encoding') !== '';
}

/**
 * Replaces the fields of a request by a list. Repeated fields are grouped under the first spelling, and cookies joined,
 * because node:http has no public API to send a raw list for an existing request.
 */
function replaceFields(request: ClientRequest, fields: readonly string[]): void {
  for (const name of request.getHeaderNames()) request.removeHeader(name);
  const values = new Map<string, { readonly name: string; readonly all: string[] }>();
  for (const [name, value] of pairsOf(fields)) {
    const field = values.get(name.toLowerCase());
    if (field) field.all.push(value);
    else values.set(name.toLowerCase(), { name, all: [value] });
  }
  for (const { name, all } of values.values()) request.setHeader(name, all.length === 1 ? (all[0] ?? '') : all);
}

function isResponse(res: object): res is ServerResponse {
  return 'headersSent' in res;
}
