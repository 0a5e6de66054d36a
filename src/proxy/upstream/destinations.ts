import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../errors.ts';
import { type Route, routeOf } from '../../providers/all.ts';
import { openai } from '../../providers/openai.ts';
import type { Operation, Provider } from '../../providers/provider.ts';
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
  /** Path and query to append to the upstream's base URL. */
  readonly rest: string;
}

/** A request that is not forwarded although a provider has its path: the code of the error that answers it. */
export interface Refused {
  readonly refusal: ErrorCode;
  readonly errorBody: ErrorBody;
}

/** What of a request says where it goes. */
type HeadOfRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Finds where requests go: the table of providers applied to the configured base URLs. */
export class Destinations {
  readonly #urls: Readonly<Record<Provider['key'], string>>;
  readonly #upstreams: Upstreams;

  constructor(urls: Readonly<Record<Provider['key'], string>>, upstreams: Upstreams) {
    this.#urls = urls;
    this.#upstreams = upstreams;
  }

  /** `null` for a request that no provider takes. */
  of(req: HeadOfRequest): Destination | Refused | null {
    const route = routeOfRequest(req);
    if (route === null) return null;
    if (hasDotSegments(req.url ?? '')) return { refusal: 'dot_segments', errorBody: errorBodyFor(req) };
    return { ...route, upstream: this.#upstreams.at(this.#urls[route.provider.key]) };
  }
}

/** Provider and operation of a request, `null` for one that is not forwarded. */
export function routeOfRequest({ method = '', url = '', headers }: HeadOfRequest): Route | null {
  return routeOf({ method, url, headers });
}

/** The shape in which the sender of a request reads an error. */
export function errorBodyFor(req: HeadOfRequest): ErrorBody {
  const route = routeOfRequest(req);
  return (route?.operation?.dialect ?? (route?.provider ?? openai).dialects[0]).error;
}
