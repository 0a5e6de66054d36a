import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { type ProxySettings, routeTo } from '../../core/proxy-route.ts';
import type { ErrorCode } from '../../errors/errors.ts';
import { openai, type Route, routeOf } from '../../wires/providers/all.ts';
import type { CloudSettings, Operation, Provider } from '../../wires/providers/provider.ts';
import type { ErrorBody } from '../send-error.ts';
import type { LoopGuard } from './headers.ts';
import { Upstream } from './upstream.ts';

/** Maximum rounds of unescaping: each gateway before the provider may unescape once more. */
const MAX_ROUNDS = 8;

/**
 * Matches `.` and `..`, also if followed by something lenient servers strip: parameters, blanks, NUL, an escaped query.
 */
const DOT_SEGMENT = /^\.{1,2}[\0- ]*(?:[;?#]|$)/;

/**
 * Whether a URL's path contains a `.` or `..` segment in any spelling: escaped (`%2e`, `%252E`, `%25%32%65`), in
 * overlong UTF-8 (`%c0%ae`), with backslashes, or with parameters (`..;x=1`). Such a path could escape the upstream's
 * base path. More than eight layers of escapes count as a dot segment. Queries are not checked.
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
  /** `null` if the request is forwarded unread. */
  readonly operation: Operation | null;
  readonly upstream: Upstream;
  /** Path and query at the upstream. */
  readonly path: string;
}

/** The destination of a model request. */
export type ModelDestination = Destination & { readonly operation: Operation };

/** A request that matches a provider but is not forwarded, with the error code of the answer. */
export interface Refused {
  readonly refusal: ErrorCode;
  /** Remedy, if the error table has none. */
  readonly message?: string;
  readonly errorBody: ErrorBody;
}

/** The parts of a request that determine its destination. */
type HeadOfRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Maximum number of different dropped path prefixes that are reported. */
const MAX_PREFIXES = 100;

/** Resolves the destination of requests from the provider table and the settings. */
export class Destinations {
  readonly #settings: CloudSettings;
  readonly #upstreams: Upstreams;
  readonly #onPrefix: (prefix: string) => void;
  readonly #prefixes = new Set<string>();

  /** @param onPrefix - called once for each prefix dropped from a longer path */
  constructor(settings: CloudSettings, upstreams: Upstreams, onPrefix: (prefix: string) => void) {
    this.#settings = settings;
    this.#upstreams = upstreams;
    this.#onPrefix = onPrefix;
  }

  /** Returns the destination; `null` if the request matches no provider. */
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

  /** Error format for the sender of a request. */
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

interface UpstreamsOptions {
  readonly upstreamTimeoutMs: number;
  readonly networkProxies: ProxySettings;
}

const MAX_OPEN = 64;

/** Open upstreams by base URL, so that requests share connections. */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #hops: LoopGuard;
  /** Cloud hosts are named by requests, so the number of upstreams is limited. */
  readonly #open = new LRUCache<string, Upstream>({ max: MAX_OPEN, dispose: (upstream) => upstream.retire() });

  constructor(options: UpstreamsOptions, hops: LoopGuard) {
    this.#options = options;
    this.#hops = hops;
  }

  /** @param url - the base URL of a provider, such as `https://api.openai.com/v1` */
  at(url: string): Upstream {
    let upstream = this.#open.get(url);
    if (upstream === undefined) {
      const { upstreamTimeoutMs, networkProxies } = this.#options;
      upstream = new Upstream({
        url,
        headersTimeoutMs: upstreamTimeoutMs,
        bodyTimeoutMs: upstreamTimeoutMs,
        route: routeTo(url, networkProxies),
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
