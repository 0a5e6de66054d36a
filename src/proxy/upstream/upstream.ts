import { Agent as HttpAgent, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ProxyRoute } from '../../core/proxy-route.ts';
import type { LoopGuard } from './headers.ts';
import { NodeHop } from './node-hop.ts';
import { type Exchange, PassOn, type RawRequest, type Unanswered, type UpstreamRequest } from './pass-on.ts';
import { UndiciHop } from './undici-hop.ts';

export interface UpstreamOptions {
  /** For example `https://api.openai.com/v1`. */
  readonly url: string;
  readonly headersTimeoutMs: number;
  /** Maximum pause within an answer. */
  readonly bodyTimeoutMs: number;
  readonly route: ProxyRoute;
  readonly hops: LoopGuard;
}

/** Maximum size of an answer's headers, equal to the limit for requests. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** The answer to one of the proxy's own requests. */
export interface SmallAnswer {
  readonly status: number;
  readonly body: Buffer;
}

const MAX_SMALL_BYTES = 64 * 1024;

/** An HTTP client that sends one request: `UndiciHop` or `NodeHop`. */
interface Hop {
  send(origin: string, request: RawRequest, passOn: PassOn): void;
}

/** Connection pool for one provider; bodies are forwarded as raw bytes. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #basePath: string;
  readonly #undici: UndiciHop;
  /** Separate pool for the proxy's own requests, so that they do not delay client requests. */
  #ownDispatcher: Dispatcher | null = null;
  /** Used after the first unsolicited `100 Continue`. */
  #node: NodeHop | null = null;
  readonly origin: string;
  /** Connection target and path prefix. For plain HTTP, an outbound proxy receives absolute URLs. */
  readonly connection: Connection;
  /** URL of the outbound proxy with user name and password, or `null`. */
  readonly proxy: string | null;

  constructor(options: UpstreamOptions) {
    const { origin, pathname } = new URL(options.url);
    this.#options = options;
    this.origin = origin;
    this.proxy = options.route.proxy;
    this.#basePath = pathname.replace(/(?<!\/)\/+$/, '');
    this.connection = connectionTo(origin, options.route);
    this.#undici = new UndiciHop(this.#dispatcher());
  }

  /**
   * Path and query at the upstream.
   *
   * @param rest - appended to the base URL's path
   */
  pathFor(rest: string): string {
    return this.#basePath + rest;
  }

  /**
   * Sends a request and streams its answer with back-pressure. Never rejects. If a reused connection was closed before
   * any answer, the request is resent once over a new one.
   */
  async exchange(request: UpstreamRequest, res: ServerResponse): Promise<Exchange> {
    const { origin, prefix, headers: proxyHeaders } = this.connection;
    const { method, path, body } = request;
    const headers = [...request.headers, ...proxyHeaders, 'via', this.#options.hops.own];
    const sent: RawRequest = { method, path: prefix + path, headers, body };
    const attempt = (hop: Hop, mayTryAgain: boolean): Promise<Exchange | Unanswered> =>
      new Promise((resolve) => hop.send(origin, sent, new PassOn(request, res, mayTryAgain, resolve)));
    let end = await attempt(this.#node ?? this.#undici, !(body instanceof Readable));
    if (end.kind === 'lost') {
      const fresh = new UndiciHop(this.#dispatcher());
      end = await attempt(this.#node ?? fresh, false);
      void fresh.close().catch(() => {}); // the answer is complete
    }
    const continued = end.kind === 'continued' || (end.kind === 'failed' && end.error === 'unexpected_continue');
    if (continued) this.#node ??= this.#nodeHop();
    if (end.kind === 'continued' && this.#node) end = await attempt(this.#node, false);
    return finalExchange(end);
  }

  /**
   * Sends a small request of the proxy itself, with a client's headers.
   *
   * @param timeoutMs - time limit for the whole exchange
   * @throws if there is no answer in time, or it is too large
   */
  async request(path: string, headers: readonly string[], body: Buffer, timeoutMs: number): Promise<SmallAnswer> {
    const { origin, prefix, headers: proxyHeaders } = this.connection;
    this.#ownDispatcher ??= this.#dispatcher();
    const answer = await this.#ownDispatcher.request({
      ...{ origin, path: prefix + path, method: 'POST', body, signal: AbortSignal.timeout(timeoutMs) },
      headers: [...headers, ...proxyHeaders, 'via', this.#options.hops.own],
    });
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of answer.body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > MAX_SMALL_BYTES) throw new Error('the answer is too long');
      pieces.push(piece);
    }
    return { status: answer.statusCode, body: Buffer.concat(pieces) };
  }

  /** Accepts no further requests; in-flight ones complete normally. */
  retire(): void {
    this.#undici.retire();
  }

  async close(): Promise<void> {
    await this.#ownDispatcher?.destroy();
    await this.#undici.close();
    this.#node?.close();
  }

  #dispatcher(): Dispatcher {
    const { headersTimeoutMs, bodyTimeoutMs } = this.#options;
    const { origin, tunnel } = this.connection;
    const options = {
      pipelining: 1,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
      connect: { timeout: 10_000 },
      maxHeaderSize: MAX_HEADER_BYTES,
    };
    return tunnel === null ? new Pool(origin, options) : new ProxyAgent({ ...options, uri: tunnel });
  }

  #nodeHop(): NodeHop {
    const { headersTimeoutMs, bodyTimeoutMs } = this.#options;
    return new NodeHop({
      agent: agentFor(this.connection),
      headersTimeoutMs,
      bodyTimeoutMs,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  }
}

export interface Connection {
  /** Origin to connect to. */
  readonly origin: string;
  /** Prefix of request paths. */
  readonly prefix: string;
  /** Headers for the outbound proxy: name, value, … */
  readonly headers: readonly string[];
  /** URL of the proxy that tunnels connections, or `null`. */
  readonly tunnel: string | null;
}

/** Proxies receive absolute URLs for plain HTTP, and tunnel encrypted connections. */
function connectionTo(origin: string, { proxy }: ProxyRoute): Connection {
  if (proxy === null) return { origin, prefix: '', headers: [], tunnel: null };
  if (origin.startsWith('https:')) return { origin, prefix: '', headers: [], tunnel: proxy };
  const { origin: proxyOrigin, username, password } = new URL(proxy);
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return {
    origin: proxyOrigin,
    prefix: origin,
    headers: [
      ...['host', new URL(origin).host],
      ...(username === '' ? [] : ['proxy-authorization', `Basic ${credentials}`]),
    ],
    tunnel: null,
  };
}

/** Keep-alive agent for node:http. */
export function agentFor({ origin, tunnel }: Connection): HttpAgent {
  if (tunnel !== null) return new HttpsProxyAgent(tunnel, { keepAlive: true });
  return origin.startsWith('https:') ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
}

/** Narrows the result of the last attempt, which cannot be retried. */
function finalExchange(end: Exchange | Unanswered): Exchange {
  if (end.kind === 'lost' || end.kind === 'continued') throw new Error('the last attempt asked for another retry');
  return end;
}
