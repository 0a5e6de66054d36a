import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { type ProxySettings, routeTo } from '../../core/proxy-route.ts';
import type { ErrorCode } from '../../errors/errors.ts';
import { openai, type Route, routeOf } from '../../wires/providers/all.ts';
import type { CloudSettings, Operation, Provider } from '../../wires/providers/provider.ts';
import type { ErrorBody } from '../send-error.ts';
import type { LoopGuard } from './headers.ts';
import { Upstream } from './upstream.ts';

/** Rounds of unescaping: each gateway before the provider may unescape once more. */
const MAX_ROUNDS = 8;

/**
 * `.` and `..`, also followed by something that lenient servers cut off: parameters, blanks, a NUL, an escaped query.
 */
const DOT_SEGMENT = /^\.{1,2}[\0- ]*(?:[;?#]|$)/;

/**
 * Whether a URL's path has a segment `.` or `..` in any spelling: escaped (`%2e`, `%252E`, `%25%32%65`), in overlong
 * UTF-8 (`%c0%ae`), with backslashes, or with parameters (`..;x=1`). Such a path may escape the base path of the
 * upstream. A path with more than eight layers of escapes counts as one. Queries are not checked.
 */
export function hasDotSegments(url: string): boolean {
  if (!url.includes('.') && !url.includes('%')) return false;
  let path = /^[^?#]*/.exec(url)?.[0] ?? '';
  for (let round = 0; path.includes('%'); round++) {
    const unescaped = path
      .replace(/%(?:25)+/g, '%')
      .replace(/%c0%ae/gi, '.')
      .replace(/%c0%af/gi, '/')
      .replace(/%([0-7][0-9a-f])/gi, charOf);
    if (unescaped === path) break;
    if (round === MAX_ROUNDS) return true;
    path = unescaped;
  }
  return path.split(/[/\\]/).some((segment) => DOT_SEGMENT.test(segment));
}

function charOf(_escape: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** The destination of a request. */
export interface Destination {
  readonly provider: Provider;
  /** `null`: forwarded unread. */
  readonly operation: Operation | null;
  readonly upstream: Upstream;
  /** Path and query at the upstream. */
  readonly path: string;
}

/** The destination of a request to a model. */
export type ModelDestination = Destination & { readonly operation: Operation };

/** A request that is not forwarded although its path matches a provider: the error code of the answer. */
export interface Refused {
  readonly refusal: ErrorCode;
  /** Remedy, if the table of errors has none. */
  readonly message?: string;
  readonly errorBody: ErrorBody;
}

/** The parts of a request that determine its destination. */
type HeadOfRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Maximum number of different dropped path prefixes that are reported. */
const MAX_PREFIXES = 100;

/** Finds the destination of requests by the table of providers and the settings. */
export class Destinations {
  readonly #settings: CloudSettings;
  readonly #upstreams: Upstreams;
  readonly #onPrefix: (prefix: string) => void;
  readonly #prefixes = new Set<string>();

  /** @param onPrefix - notified once of each prefix that is dropped from longer paths */
  constructor(settings: CloudSettings, upstreams: Upstreams, onPrefix: (prefix: string) => void) {
    this.#settings = settings;
    this.#upstreams = upstreams;
    this.#onPrefix = onPrefix;
  }

  /** `null` for a request that matches no provider. */
  of(req: HeadOfRequest): Destination | Refused | null {
    const route = this.routeOf(req);
    if (route === null) return null;
    const { provider, operation, baseUrl, rest, toOrigin, prefix } = route;
    const errorBody = bodyOf(route);
    if (hasDotSegments(req.url ?? '')) return { refusal: 'dot_segments', errorBody };
    if (baseUrl === null) {
      const message = `Set ${provider.variable}: this path belongs to ${provider.name}, whose address is not known.`;
      return { refusal: 'upstream_not_set', message, errorBody };
    }
    if (prefix !== undefined) this.#notePrefix(prefix);
    const upstream = this.#upstreams.at(baseUrl);
    return { provider, operation, upstream, path: toOrigin ? rest : upstream.pathFor(rest) };
  }

  /** Provider and operation of a request; `null` if it matches no provider. */
  routeOf({ method = '', url = '', headers }: HeadOfRequest): Route | null {
    return routeOf({ method, url, headers }, this.#settings);
  }

  /** The error shape for the sender of a request. */
  errorBodyFor(req: HeadOfRequest): ErrorBody {
    return bodyOf(this.routeOf(req));
  }

  #notePrefix(prefix: string): void {
    if (this.#prefixes.has(prefix) || this.#prefixes.size >= MAX_PREFIXES) return;
    this.#prefixes.add(prefix);
    this.#onPrefix(prefix);
  }
}

function bodyOf(route: Route | null): ErrorBody {
  return (route?.operation?.dialect ?? (route?.provider ?? openai).dialects[0]).error;
}

interface UpstreamsOptions extends ProxySettings {
  readonly upstreamHeadersTimeoutMs: number;
  readonly upstreamBodyTimeoutMs: number;
}

const MAX_OPEN = 64;

/** The upstreams in use, by base URL: requests to the same one share its connections. */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #hops: LoopGuard;
  /** Cloud hosts depend on requests, so the least recently used are closed. */
  readonly #open = new LRUCache<string, Upstream>({ max: MAX_OPEN, dispose: (upstream) => upstream.retire() });

  constructor(options: UpstreamsOptions, hops: LoopGuard) {
    this.#options = options;
    this.#hops = hops;
  }

  /** @param url - the base URL of a provider, such as `https://api.openai.com/v1` */
  at(url: string): Upstream {
    let upstream = this.#open.get(url);
    if (upstream === undefined) {
      const { upstreamHeadersTimeoutMs: headersTimeoutMs, upstreamBodyTimeoutMs: bodyTimeoutMs } = this.#options;
      upstream = new Upstream({
        url,
        headersTimeoutMs,
        bodyTimeoutMs,
        route: routeTo(url, this.#options),
        hops: this.#hops,
      });
      this.#open.set(url, upstream);
    }
    return upstream;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((upstream) => upstream.close()));
  }
}
