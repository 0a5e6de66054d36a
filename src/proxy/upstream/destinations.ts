import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../errors.ts';
import { type Route, routeOf } from '../../providers/all.ts';
import { openai } from '../../providers/openai.ts';
import type { CloudSettings, Operation, Provider } from '../../providers/provider.ts';
import type { ErrorBody } from '../openai-error.ts';
import { hasDotSegments } from './dot-segments.ts';
import type { Upstream } from './upstream.ts';
import type { Upstreams } from './upstreams.ts';

/** Where a request goes. */
export interface Destination {
  readonly provider: Provider;
  /** `null`: forwarded unread. */
  readonly operation: Operation | null;
  readonly upstream: Upstream;
  /** Path and query at the upstream. */
  readonly path: string;
}

/** A request that is not forwarded although a provider has its path: the code of the error that answers it. */
export interface Refused {
  readonly refusal: ErrorCode;
  /** What to do, where the table of errors does not know it. */
  readonly message?: string;
  readonly errorBody: ErrorBody;
}

/** What of a request says where it goes. */
type HeadOfRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Prefixes of longer paths that are logged, at most. */
const MAX_PREFIXES = 100;

/** Finds where requests go: the table of providers applied to the settings. */
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

  /** `null` for a request that no provider takes. */
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

  /** Provider and operation of a request, `null` for one that no provider takes. */
  routeOf({ method = '', url = '', headers }: HeadOfRequest): Route | null {
    return routeOf({ method, url, headers }, this.#settings);
  }

  /** The shape in which the sender of a request reads an error. */
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
