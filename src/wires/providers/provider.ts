import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect, Purpose } from '../dialects/dialect.ts';
import type { BaseUrls, ProviderFacts } from './facts.ts';

export interface RequestLine {
  readonly method: string;
  /** Path and query, as spelled by the client. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A model request: body format and purpose. */
export interface Operation {
  readonly dialect: Dialect;
  readonly purpose: Purpose;
  /** Model and streaming flag, if stated in the path; otherwise the body states them. */
  readonly model?: string;
  readonly stream?: boolean;
  /**
   * Extracts the request from an enclosing body; `null` if the body is not understood. @throws JsonShapeError if the
   * body is not a JSON object
   */
  readonly open?: (body: Buffer) => Enclosed | null;
}

/** A request inside another body. */
export interface Enclosed {
  readonly dialect: Dialect;
  readonly body: Buffer;
  /** Returns the whole body with another request in place of this one. */
  readonly close: (changed: Buffer) => Buffer;
}

export interface Taken {
  /** `null` if the request is forwarded unread. */
  readonly operation: Operation | null;
  /** Path and query to append to the base URL. */
  readonly rest: string;
  /** Whether to append `rest` to the origin of the base URL, because the URL's path belongs to another API. */
  readonly toOrigin?: boolean;
}

export interface CloudSettings extends BaseUrls {
  /** Bedrock region for requests that name none; `null` if not set. */
  readonly aws: { readonly region: string | null };
}

/**
 * One provider of models. A new provider is a row of `facts.ts`, a file next to this one with its routes, and a row of
 * `all.ts`.
 */
export interface Provider extends ProviderFacts {
  /** Request formats. The proxy's own errors use the first one's error format. */
  readonly dialects: readonly [Dialect, ...Dialect[]];
  /** @param path - of the request, without the query. @returns `null` if the request does not match this provider */
  takes(path: string, line: RequestLine, settings: CloudSettings): Taken | null;
  /**
   * Base URL of a request, if it depends on more than the setting; `null` if the setting is missing and no region or
   * location is known.
   */
  baseUrl?(path: string, line: RequestLine, settings: CloudSettings): string | null;
}

/** Drops the version from a path, for base URLs that contain it, such as `https://api.openai.com/v1`. */
export function belowVersion(operation: Operation | null, { url }: RequestLine): Taken {
  return { operation, rest: url.replace(/^\/v1(?:beta)?(?=\/|\?|$)/, '') };
}

/**
 * Like `belowVersion`, for base URLs that may lack the version, such as `https://api.anthropic.com`; then the path
 * keeps it.
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

/** Whether a path equals `root` or lies below it. */
export function isBelow(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path[root.length] === '/');
}

/** Decodes a name in a path (`%3A` is a colon), truncated to 200 characters. */
export function decodedName(segment: string): string {
  try {
    return decodeURIComponent(segment).slice(0, 200);
  } catch {
    return segment.slice(0, 200);
  }
}
