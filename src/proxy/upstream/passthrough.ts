import type { ClientRequest, Agent as HttpAgent, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Request, RequestHandler, Response } from 'express';
import { createProxyMiddleware, type Options } from 'http-proxy-middleware';
import { sendUpstreamError } from '../openai-error.ts';
import type { Destinations } from './destinations.ts';
import { hopByHop, namedByConnection, ownHeader, pairsOf, responseHeaders, signedFields } from './headers.ts';
import type { Hops } from './hops.ts';
import { heldUpload, readAway } from './unread-upload.ts';
import { agentFor, type Connection, MAX_HEADER_BYTES } from './upstream.ts';
import { isLostConnection, upstreamErrorCode } from './upstream-error.ts';

export interface PassthroughOptions {
  readonly connection: Connection;
  readonly destinations: Destinations;
  readonly hops: Hops;
  /** How long the upstream may take until its answer begins, in milliseconds; 0 for ever. */
  readonly headersTimeoutMs: number;
  /** Longest silence in the middle of an answer, in milliseconds; 0 for ever. */
  readonly bodyTimeoutMs: number;
  readonly onUpstreamError: (code: string) => void;
}

/** Bodies up to this many bytes are kept until they are answered, to be sent again where nobody has read them. */
const KEPT_BODY_BYTES = 1024 * 1024;

/** Forwards whatever is not ours to prune, untouched and streamed both ways. */
export function passthrough(options: PassthroughOptions): RequestHandler {
  const forwarder = new Forwarder(options);
  // Without an agent of its own every request would open a connection.
  const agent = agentFor(options.connection);
  const forward = createProxyMiddleware<Request, Response>(forwarder.options(agent));
  return (req, res, next) => {
    forwarder.keep(req);
    if (options.connection.tunnel === null) void forward(req, res, next);
    else forwarder.sendHeld(req, res, agent);
  };
}

/** What is known of a request under way. */
interface UnderWay {
  /** What has been read of its body, `null` when it is too large to be kept. */
  readonly kept: Buffer[] | null;
  readonly stopKeeping: () => void;
  /** Lets a body come that is held back until the head of the request is made. */
  begin: () => void;
  again: boolean;
  late: boolean;
  sent: ClientRequest | null;
  answer: IncomingMessage | null;
}

class Forwarder {
  readonly #options: PassthroughOptions;
  readonly #underWay = new WeakMap<IncomingMessage, UnderWay>();

  constructor(options: PassthroughOptions) {
    this.#options = options;
  }

  /** Takes down what is read of a body from now on. */
  keep(req: IncomingMessage): void {
    const kept = isSmall(req) ? ([] as Buffer[]) : null;
    const onData = (chunk: Buffer): void => void kept?.push(chunk);
    if (kept) {
      req.pause(); // or it would flow before it is piped
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
      ssl: { maxHeaderSize: MAX_HEADER_BYTES }, // http-proxy makes its request of these, encrypted or not
      ...(buffer && { buffer }),
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
    const { connection, hops } = this.#options;
    const underWay = this.#underWay.get(req);
    if (underWay) underWay.sent = proxyReq;
    proxyReq.path = connection.prefix + this.#pathOf(req); // http-proxy joins paths by rules of its own
    if (isChunked(req)) {
      // It also takes a DELETE or OPTIONS without a length for one without a body, and then sends the body.
      proxyReq.removeHeader('content-length');
      proxyReq.setHeader('transfer-encoding', 'chunked');
    }
    const named = namedByConnection(req.rawHeaders);
    const signed = signedFields(req.headers.authorization);
    for (const name of proxyReq.getHeaderNames()) {
      const isOurs = named.has(name) || (ownHeader(name) && !signed.has(name));
      if ((hopByHop(name) && name !== 'transfer-encoding') || isOurs) proxyReq.removeHeader(name);
    }
    if (signed.has('host')) proxyReq.setHeader('host', req.headers.host ?? '');
    for (let i = 0; i + 1 < connection.fields.length; i += 2) {
      proxyReq.setHeader(connection.fields[i] ?? '', connection.fields[i + 1] ?? '');
    }
    proxyReq.setHeader('via', hops.next(req.headers));
    proxyReq.once('timeout', () => {
      if (underWay) underWay.late = true;
    });
    // Nobody else would tell the client of an answer that switches to another protocol.
    proxyReq.once('upgrade', (_answer, socket) => {
      socket.destroy();
      this.#fail(req, res, 'garbled');
    });
    res.once('close', () => proxyReq.destroy());
    underWay?.begin();
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
    const named = namedByConnection(proxyRes.rawHeaders);
    for (const name of Object.keys(proxyRes.headers)) {
      if ((hopByHop(name) || named.has(name)) && name !== 'transfer-encoding') delete proxyRes.headers[name];
    }
    proxyRes.once('end', () => {
      // http-proxy ends the answer behind this
      const trailers = responseHeaders(proxyRes.rawTrailers);
      if (trailers.length > 0 && res.chunkedEncoding) res.addTrailers(pairsOf(trailers));
      readAway(req);
    });
    proxyRes.once('close', () => {
      // An answer that broke off must not look like one that goes on.
      if (!proxyRes.complete && !res.destroyed) this.#fail(req, res, 'reset');
    });
  }

  #onError(cause: Error, req: Request, res: Response): void {
    const underWay = this.#underWay.get(req);
    if (underWay?.answer?.complete) return; // it could not send the rest of what has been answered
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

  /** Over a new connection: the one kept from an earlier request had been closed, and nobody has read this one. */
  #sendAgain(req: Request, res: Response, kept: readonly Buffer[]): void {
    const agent = agentFor(this.#options.connection);
    res.once('close', () => agent.destroy());
    this.sendHeld(req, res, agent, kept);
  }

  /**
   * Sends a request whose body waits until its head is made: a connection that takes its time (a tunnel, a new one) would
   * otherwise find the head made by the first piece of the body, with the client's fields as they are.
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
    sendUpstreamError(res, code, this.#options.destinations.errorBodyFor(req)); // ends an answer that has begun
    readAway(req);
  }
}

function isSmall(req: IncomingMessage): boolean {
  return !isChunked(req) && Number(req.headers['content-length'] ?? 0) <= KEPT_BODY_BYTES;
}

/** Told by the fields as received; http-proxy changes the others. */
function isChunked({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'transfer-encoding');
}

function isResponse(res: object): res is ServerResponse {
  return 'headersSent' in res;
}
