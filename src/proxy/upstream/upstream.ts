import { Agent as HttpAgent, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ProxyRoute } from '../../core/proxy-route.ts';
import type { LoopGuard } from './headers.ts';
import { NodeHop } from './node-hop.ts';
import { type Exchange, PassOn, type RawRequest, type Unanswered, type UpstreamRequest } from './pass-on.ts';
import { UndiciHop } from './undici-hop.ts';

interface UpstreamOptions {
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
interface SmallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const MAX_SMALL_BYTES = 64 * 1024;

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

  /** Like `send`; resolves with the end of the exchange. Never rejects. */
  exchange(request: Omit<UpstreamRequest, 'ended'>, res: ServerResponse): Promise<Exchange> {
    return new Promise((ended) => this.send({ ...request, ended }, res));
  }

  /**
   * Sends a request and streams its answer with back-pressure. Never throws. If a reused connection was closed before
   * any answer, the request is resent once over a new one.
   */
  send(request: UpstreamRequest, res: ServerResponse): void {
    const { prefix, headers: proxyHeaders, origin } = this.connection;
    const { method, path, headers, body } = request;
    headers.push(...proxyHeaders, 'via', this.#options.hops.own);
    const sent: RawRequest = { origin, method, path: prefix === '' ? path : prefix + path, headers, body };
    (this.#node ?? this.#undici).send(new PassOn(request, sent, res, this));
  }

  /** Sends a request again whose first attempt brought nothing to the client. */
  again(kind: Unanswered, passOn: PassOn): void {
    if (kind === 'continued') this.expectsContinue();
    if (this.#node) {
      this.#node.send(passOn);
      return;
    }
    const fresh = new UndiciHop(this.#dispatcher());
    passOn.onEnd = () => void fresh.close().catch(() => {}); // the answer is complete
    fresh.send(passOn);
  }

  /** From now on, requests go through node:http, which accepts an unsolicited `100 Continue`. */
  expectsContinue(): void {
    this.#node ??= this.#nodeHop();
  }

  /**
   * Sends a small request of the proxy itself, with a client's headers.
   *
   * @param timeoutMs - time limit for the whole exchange
   * @param maxBytes - limit for the answer
   * @throws if there is no answer in time, or it is too large
   */
  async request(
    path: string,
    headers: readonly string[],
    body: Buffer,
    timeoutMs: number,
    maxBytes: number = MAX_SMALL_BYTES,
  ): Promise<SmallAnswer> {
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
      if (bytes > maxBytes) throw new Error('the answer is too long');
      pieces.push(piece);
    }
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) };
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
  readonly headers: string[];
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
