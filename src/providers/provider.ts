import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect, Purpose } from '../dialects/dialect.ts';
import type { ProviderFacts } from './facts.ts';

/** The first line of a request and its fields. */
export interface RequestLine {
  readonly method: string;
  /** Path and query, as the client spelled them. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A request to a model: the format of its body and what it is for. */
export interface Operation {
  readonly dialect: Dialect;
  readonly purpose: Purpose;
  /** Model and streaming as the path states them; absent where the body does. */
  readonly model?: string;
  readonly stream?: boolean;
}

/**
 * One provider of models. A new provider is a row of `facts.ts`, a file beside this one with its routes, and a row of
 * `all.ts`.
 */
export interface Provider extends ProviderFacts {
  /** The formats of its requests. Errors of the proxy's own have the shape of the first. */
  readonly dialects: readonly [Dialect, ...Dialect[]];
  /**
   * `Operation`: a request of a known format. `forward`: another request of this provider, forwarded unread. `null`: not
   * this provider's.
   *
   * @param path - of the request, without its query
   */
  takes(path: string, line: RequestLine): Operation | 'forward' | null;
}

/** The operation of a dialect at its own path, `null` where the path is none of its. */
export function operationOf(dialect: Dialect, method: string, path: string): Operation | null {
  const purpose = dialect.claims(method, path);
  return purpose === null ? null : { dialect, purpose, ...dialect.namedIn?.(path) };
}

/** A path or URL without its query. */
export function withoutQuery(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** Path and query without the version in front, which the base URL has as well. */
export function withoutVersion(url: string): string {
  return url.replace(/^\/v1(?:beta)?(?=\/|\?|$)/, '');
}

/** Whether a path is `root` or lies below it. */
export function isBelow(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path[root.length] === '/');
}
