import { errorCode } from 'mcp-pruner/base/causes.ts';
import type { Dispatcher } from 'undici';

type CallFailureKind = 'timeout' | 'cancelled' | 'unreachable' | 'status' | 'not_json' | 'too_large' | 'wrong_shape';

/** A failed call to a remote backend. Contains no text, no header and no part of the answer. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly kind: CallFailureKind;
  /** HTTP status, if the answer was complete or was discarded because of its status. */
  readonly status: number | null;
  /** The answer's `Retry-After` unchanged, or `null`. */
  readonly retryAfter: string | null;

  constructor(kind: CallFailureKind, status: number | null = null, detail = '', retryAfter: string | null = null) {
    super(detail === '' ? kind : `${kind}: ${detail}`);
    this.kind = kind;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

interface JsonPost {
  readonly url: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly maxBytes: number;
}

export interface JsonAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Bytes of an unusable answer that are drained so that its connection can be reused. */
const DRAIN_BYTES = 16 * 1024;

/** Forward proxies from `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. */
export interface Proxies {
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: readonly string[];
}

const NO_PROXIES: Proxies = { httpProxy: null, httpsProxy: null, noProxy: [] };

const MAX_CONNECTIONS = 16;
const KEEP_ALIVE_MS = 30_000;

/**
 * Posts and reads JSON over its own connections. Does not follow redirects, so that data is only sent to the configured
 * URL.
 */
export class JsonPoster {
  #library: Promise<typeof import('undici')> | null = null;
  #agent: Dispatcher | null = null;
  readonly #proxies: Proxies;

  constructor(proxies: Proxies = NO_PROXIES) {
    this.#proxies = proxies;
  }

  /** @throws CallFailure unless a 2xx answer with a JSON body arrives within the limits */
  async post(post: JsonPost): Promise<JsonAnswer> {
    const own = new AbortController();
    const timer = setTimeout(() => own.abort('timeout'), post.timeoutMs);
    const cancel = (): void => own.abort('cancelled');
    if (post.signal?.aborted) cancel();
    post.signal?.addEventListener('abort', cancel, { once: true });
    try {
      const answer = await this.#request(post, own.signal);
      const status = answer.statusCode;
      if (status < 200 || status > 299) {
        answer.body.dump({ limit: DRAIN_BYTES }).catch(() => {}); // the status is sufficient
        const retryAfter = answer.headers['retry-after'];
        throw new CallFailure('status', status, String(status), typeof retryAfter === 'string' ? retryAfter : null);
      }
      return { status, json: parse(await readAll(answer.body, post.maxBytes, status), status) };
    } catch (cause) {
      if (cause instanceof CallFailure) throw cause;
      if (own.signal.aborted) throw new CallFailure(own.signal.reason === 'timeout' ? 'timeout' : 'cancelled');
      throw new CallFailure('unreachable', null, errorCode(cause).toLowerCase() || 'error');
    } finally {
      clearTimeout(timer);
      post.signal?.removeEventListener('abort', cancel);
    }
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  async #request({ url, headers, body }: JsonPost, signal: AbortSignal) {
    // loaded lazily, because it would double the start-up time of a process that makes no calls
    this.#library ??= import('undici');
    const { EnvHttpProxyAgent, request } = await this.#library.catch((cause: unknown) => {
      this.#library = null;
      throw cause;
    });
    const { httpProxy, httpsProxy, noProxy } = this.#proxies;
    this.#agent ??= new EnvHttpProxyAgent({
      connections: MAX_CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // empty strings, because the agent would otherwise read the environment itself
      httpProxy: httpProxy ?? '',
      httpsProxy: httpsProxy ?? '',
      noProxy: noProxy.join(','),
      proxyTunnel: false,
    });
    return request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: JSON.stringify(body),
      signal,
      dispatcher: this.#agent,
    });
  }
}

async function readAll(body: AsyncIterable<Buffer>, maxBytes: number, status: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new CallFailure('too_large', status);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Drops the parser's own message, because it quotes the answer. */
function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CallFailure('not_json', status);
  }
}
