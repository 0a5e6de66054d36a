import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { type ErrorCode, errorRow } from '../errors.ts';

export interface LocalGuardOptions {
  /** Names beside the loopback ones: `name` (any port) or `name:port`. */
  readonly allowedHosts: readonly string[];
  /** When set, each request must carry it as `Authorization: Bearer …`. */
  readonly bearerToken?: string;
  /** Takes the token as `?token=…` too, for clients that can be told an address and no header. */
  readonly tokenInUrl?: boolean;
}

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(?::(\d{1,5}))?$/;
const LOOPBACK_V4 = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;

/**
 * Keeps web pages off a local endpoint. A page may point a name of its own at 127.0.0.1 (DNS rebinding) and post to it:
 * such requests carry a foreign `Host` or `Origin` and are refused with 403. Where a token is configured it decides in
 * the place of `Host`, since no page knows it; a wrong or missing one is 401.
 */
export function localGuard({ allowedHosts, bearerToken, tokenInUrl = false }: LocalGuardOptions): RequestHandler {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  if (bearerToken === '') throw new Error('the bearer token is empty'); // would let a missing one pass
  const token = bearerToken === undefined ? null : digest(bearerToken);

  return (req, res, next) => {
    const { origin, host, authorization } = req.headers;
    if (origin !== undefined && !isAllowed(authorityOf(origin), allowed)) {
      return refuse(res, 'forbidden_origin');
    }
    if (token !== null) {
      const given = bearerOf(authorization) || (tokenInUrl ? queryToken(req.url) : '');
      if (timingSafeEqual(digest(given), token)) return next();
      res.setHeader('WWW-Authenticate', 'Bearer realm="mcp-pruner"');
      const how = tokenInUrl ? 'Authorization: Bearer <token>, or ?token=<token>' : 'Authorization: Bearer <token>';
      return refuse(
        res,
        'unauthorized',
        `A valid token is required (${how}): that of MCP_PRUNER_AUTH_TOKEN, or of the file local-token beside the store.`,
      );
    }
    if (!isAllowed(host ?? '', allowed)) {
      return refuse(res, 'forbidden_host');
    }
    next();
  };
}

function isAllowed(authority: string, allowed: ReadonlySet<string>): boolean {
  const lower = authority.toLowerCase();
  const [, name] = AUTHORITY.exec(lower) ?? [];
  if (name === undefined) return false;
  return name === 'localhost' || name === '[::1]' || LOOPBACK_V4.test(name) || allowed.has(name) || allowed.has(lower);
}

/** Host and port of a web origin; empty for `null`, for other schemes and for what is no origin. */
function authorityOf(origin: string): string {
  if (!URL.canParse(origin)) return '';
  const { protocol, host } = new URL(origin);
  return protocol === 'http:' || protocol === 'https:' ? host : '';
}

function bearerOf(authorization: string | undefined): string {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  return token ?? '';
}

function queryToken(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : (new URLSearchParams(url.slice(at)).get('token') ?? '');
}

/** Equal lengths, so that the comparison tells nothing by its time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refuse(res: Response, type: ErrorCode, message: string = errorRow(type).hint): void {
  res.status(errorRow(type).http ?? 403).json({ error: { message, type } });
}
