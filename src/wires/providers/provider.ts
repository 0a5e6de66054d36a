import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect, Purpose } from '../dialects/dialect.ts';
import type { BaseUrls, ProviderFacts } from './facts.ts';

/** The first line of a request and its headers. */
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
  /** Model and streaming, if the path states them; absent if the body does. */
  readonly model?: string;
  readonly stream?: boolean;
  /**
   * Extracts the request from a body that encloses it; `null` if the body is not understood. @throws JsonShapeError if
   * the body is not a JSON object
   */
  readonly open?: (body: Buffer) => Enclosed | null;
}

/** A request inside another body. */
export interface Enclosed {
  readonly dialect: Dialect;
  readonly body: Buffer;
  /** The whole body with another request in the place of this one. */
  readonly close: (changed: Buffer) => Buffer;
}

/** A request that a provider takes. */
export interface Taken {
  /** `null`: forwarded unread. */
  readonly operation: Operation | null;
  /** Path and query to append to the base URL. */
  readonly rest: string;
  /**
   * `true`: `rest` is appended to the origin of the base URL, because the path of the base URL belongs to another API.
   */
  readonly toOrigin?: boolean;
}

/** The settings that decide where requests to a cloud go. */
export interface CloudSettings extends BaseUrls {
  /** The Bedrock region for requests that name none; `null` if it is not set. */
  readonly awsRegion: string | null;
}

/**
 * One provider of models. A new provider is a row of `facts.ts`, a file next to this one with its routes, and a row of
 * `all.ts`.
 */
export interface Provider extends ProviderFacts {
  /** The formats of its requests. The proxy's own errors have the shape of the first one. */
  readonly dialects: readonly [Dialect, ...Dialect[]];
  /** @param path - of the request, without its query. @returns `null` for a request that is not this provider's */
  takes(path: string, line: RequestLine, settings: CloudSettings): Taken | null;
  /**
   * The base URL of a request, if it depends on more than the setting; `null` if the setting is not set and no region
   * or location is known.
   */
  baseUrl?(path: string, line: RequestLine, settings: CloudSettings): string | null;
}

/** A request whose version is dropped because the base URL contains it, as `https://api.openai.com/v1` does. */
export function belowVersion(operation: Operation | null, { url }: RequestLine): Taken {
  return { operation, rest: url.replace(/^\/v1(?:beta)?(?=\/|\?|$)/, '') };
}

/**
 * The same for a base URL that may be spelled without its version, as the clients of some providers spell it:
 * `https://api.anthropic.com`. The version of the path is kept then.
 */
export function belowBase(operation: Operation | null, line: RequestLine, baseUrl: string): Taken {
  const hasVersion = /\/v\d[a-z\d]{0,10}\/?$/.test(baseUrl);
  return hasVersion ? belowVersion(operation, line) : { operation, rest: line.url };
}

/** The operation of a dialect at its own path, or `null` if the dialect does not claim the path. */
export function operationOf(dialect: Dialect, method: string, path: string): Operation | null {
  const purpose = dialect.claims(method, path);
  return purpose === null ? null : { dialect, purpose, ...dialect.namedIn?.(path) };
}

/** A path or URL without its query. */
export function withoutQuery(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** Whether a path is `root` or lies below it. */
export function isBelow(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path[root.length] === '/');
}

/** Decodes a name in a path: `%3A` is a colon. At most 200 characters. */
export function decodedName(segment: string): string {
  try {
    return decodeURIComponent(segment).slice(0, 200);
  } catch {
    return segment.slice(0, 200);
  }
}
