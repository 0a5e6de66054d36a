import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { allowedCallers, type Caller, isForeignHost, isForeignPage } from '../core/web-origin.ts';
import { type ErrorCode, errorRow } from '../errors/errors.ts';

export interface LocalGuardOptions {
  /** Further accepted host names: `name` (any port) or `name:port`. */
  readonly allowedHosts: readonly string[];
  /** Further accepted origins of web pages. */
  readonly allowedOrigins?: readonly string[];
  /** Accepts any host name, because each caller is already authenticated. */
  readonly anyHost?: boolean;
  /** If set, each request must send it as `Authorization: Bearer …`. */
  readonly bearerToken?: string;
  /** Also accepts the token as `?token=…`, for clients that cannot set a header. */
  readonly tokenInUrl?: boolean;
}

/**
 * Protects a local endpoint from web pages. Any page can post to 127.0.0.1, and can point its own host name there (DNS
 * rebinding). Requests from another origin, or for a host name that is not ours, are refused with 403. A configured
 * token replaces the `Host` check, since pages do not know it; a wrong or missing token is a 401.
 */
export function localGuard(options: LocalGuardOptions): RequestHandler {
  const { allowedHosts, allowedOrigins = [], bearerToken, tokenInUrl = false, anyHost = false } = options;
  if (bearerToken === '') throw new Error('the bearer token is empty'); // would admit requests without one
  const token = bearerToken === undefined ? null : digest(bearerToken);
  const allowed = allowedCallers(allowedHosts, allowedOrigins, token !== null || anyHost);
  const guesses = new Guesses();

  return (req, res, next) => {
    const { origin, host, authorization, 'sec-fetch-site': site } = req.headers;
    const caller: Caller = { host, origin, secFetchSite: Array.isArray(site) ? site[0] : site };
    if (isForeignPage(caller, allowed)) return refuse(res, 'forbidden_origin');
    if (token !== null) {
      const given = bearerOf(authorization) || (tokenInUrl ? queryToken(req.url) : '');
      if (!timingSafeEqual(digest(given), token)) {
        const hint = tokenInUrl ? `${errorRow('unauthorized').hint} /rpc takes ?token=<token> too.` : undefined;
        res.setHeader('WWW-Authenticate', 'Bearer realm="mcp-pruner"');
        return given === '' ? refuse(res, 'unauthorized', hint) : guesses.slow(() => refuse(res, 'unauthorized', hint));
      }
    }
    if (isForeignHost(caller, allowed)) return refuse(res, 'forbidden_host');
    next();
  };
}

/** Number of wrong tokens per minute answered without delay, and the delay added per further one, up to a maximum. */
const FREE_GUESSES = 5;
const DELAY_MS = 200;
const MAX_DELAY_MS = 5_000;
const MINUTE_MS = 60_000;

/** Rate-limits wrong tokens: each one delays the answer further, until a minute passes without any. */
class Guesses {
  #count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  slow(answer: () => void): void {
    const nowMs = performance.now();
    this.#count = nowMs - this.#lastMs > MINUTE_MS ? 1 : this.#count + 1;
    this.#lastMs = nowMs;
    const delayMs = Math.min(MAX_DELAY_MS, Math.max(0, this.#count - FREE_GUESSES) * DELAY_MS);
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs).unref();
  }
}

function queryToken(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : (new URLSearchParams(url.slice(at)).get('token') ?? '');
}

function bearerOf(authorization: string | undefined): string {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  return token ?? '';
}

/** Digests have equal lengths, so that comparison timing reveals nothing. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refuse(res: Response, type: ErrorCode, message: string = errorRow(type).hint): void {
  res.status(errorRow(type).http ?? 403).json({ error: { message, type } });
}
