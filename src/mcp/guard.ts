import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { allowedCallers, type Caller, isForeignHost, isForeignPage } from '../core/origin.ts';
import { type ErrorCode, errorRow } from '../errors.ts';

export interface LocalGuardOptions {
  /** Names beside the loopback ones: `name` (any port) or `name:port`. */
  readonly allowedHosts: readonly string[];
  /** Pages beside our own that may call. */
  readonly allowedOrigins?: readonly string[];
  /** Programs may address us by any name, because each has shown who it is already. */
  readonly anyHost?: boolean;
  /** When set, each request must carry it as `Authorization: Bearer …`. */
  readonly bearerToken?: string;
  /** Takes the token as `?token=…` too, for clients that can be told an address and no header. */
  readonly tokenInUrl?: boolean;
}

/**
 * Keeps web pages off a local endpoint. Any page can post to 127.0.0.1, and point a name of its own there (DNS
 * rebinding): what comes from another page, or is addressed to a name that is not ours, is refused with 403. Where a
 * token is configured it decides in the place of `Host`, since no page knows it; a wrong or missing one is 401.
 */
export function localGuard(options: LocalGuardOptions): RequestHandler {
  const { allowedHosts, allowedOrigins = [], bearerToken, tokenInUrl = false, anyHost = false } = options;
  if (bearerToken === '') throw new Error('the bearer token is empty'); // would let a missing one pass
  const token = bearerToken === undefined ? null : digest(bearerToken);
  const allowed = allowedCallers(allowedHosts, allowedOrigins, token !== null || anyHost);

  return (req, res, next) => {
    const { origin, host, authorization, 'sec-fetch-site': site } = req.headers;
    const caller: Caller = { host, origin, secFetchSite: Array.isArray(site) ? site[0] : site };
    if (isForeignPage(caller, allowed)) return refuse(res, 'forbidden_origin');
    if (token !== null) {
      const given = bearerOf(authorization) || (tokenInUrl ? queryToken(req.url) : '');
      if (!timingSafeEqual(digest(given), token)) {
        res.setHeader('WWW-Authenticate', 'Bearer realm="mcp-pruner"');
        return refuse(
          res,
          'unauthorized',
          tokenInUrl ? `${errorRow('unauthorized').hint} /rpc takes ?token=<token> too.` : undefined,
        );
      }
    }
    if (isForeignHost(caller, allowed)) return refuse(res, 'forbidden_host');
    next();
  };
}

function queryToken(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : (new URLSearchParams(url.slice(at)).get('token') ?? '');
}

function bearerOf(authorization: string | undefined): string {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  return token ?? '';
}

/** Equal lengths, so that the comparison tells nothing by its time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refuse(res: Response, type: ErrorCode, message: string = errorRow(type).hint): void {
  res.status(errorRow(type).http ?? 403).json({ error: { message, type } });
}
