import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/ports.ts';
import { type Allowed, type Caller, isForeignHost, isForeignPage } from '../../core/web-origin.ts';

interface PageAccessOptions {
  readonly allowed: Allowed;
  /** The token that callers must present; `null` if pages and programs on this machine need none. */
  readonly token: string | null;
  /** If present, callers use one of many keys instead of the token. */
  readonly keys?: PageKeys;
  readonly clock: Clock;
  /** Called after each sign-in; `keyId` is `''` for a sign-in with the token. */
  readonly onSignedIn?: (keyId: string) => void;
}

/** Access keys, from the page's perspective. */
export interface PageKeys {
  /** Validates a typed key and returns its id; `null` if it is invalid. */
  enter(shown: string): Promise<string | null>;
  /** The secret for signing cookies of this key; `null` if the key is invalid. */
  secretOf(keyId: string): string | null;
  /** Whether a request carries its own key. */
  cameWithKey(req: IncomingMessage): boolean;
}

/** Reasons for refusing a request. */
export type Refusal = 'forbidden_origin' | 'forbidden_host' | 'unauthorized' | 'page_token_needed';

/** Header with which the page proves that it can read answers of this server. */
const PAGE_TOKEN_HEADER = 'x-mcp-pruner-page';
/** Lifetime of a sign-in. */
const SESSION_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * Access control of the page. Pages of other origins are refused by their headers (`core/web-origin.ts`). If a token is
 * configured, the user enters it once and gets an HttpOnly cookie. Requests that change something also need a token of
 * this process, which only a page that can read its answers has.
 */
export class PageAccess {
  readonly #options: PageAccessOptions;
  readonly #ownKey = randomBytes(32);

  constructor(options: PageAccessOptions) {
    if (options.token === '') throw new Error('the token of the page is empty'); // would admit requests without one
    this.#options = options;
  }

  /** Whether keys are used instead of a token. */
  get takesKeys(): boolean {
    return this.#options.keys !== undefined;
  }

  /** Whether a token or key is required at all. */
  get asksForToken(): boolean {
    return this.#options.token !== null || this.#options.keys !== undefined;
  }

  /**
   * Why a foreign page or host name is refused; `null` for all others.
   *
   * @param isEmpty - the requested page contains no data, so other sites may link to it
   */
  foreign(req: IncomingMessage, isEmpty = false): Refusal | null {
    const caller = callerOf(req);
    const { allowed } = this.#options;
    if (isForeignPage(caller, allowed) && !(isEmpty && followsLink(req))) return 'forbidden_origin';
    // independent of the token, because a browser always sends the URL's host name
    return isForeignHost(caller, { ...allowed, anyHost: false }) ? 'forbidden_host' : null;
  }

  /** Why a non-foreign request may not read data; `null` if it may. */
  unknown(req: IncomingMessage): Refusal | null {
    return this.#shows(req) ? null : 'unauthorized';
  }

  /** Why a request with read access may not change data; `null` if it may. */
  unproven(req: IncomingMessage): Refusal | null {
    const given = req.headers[PAGE_TOKEN_HEADER];
    return typeof given === 'string' && isSame(given, this.pageToken(req)) ? null : 'page_token_needed';
  }

  /** The token that this caller's actions must carry. */
  pageToken(req: IncomingMessage): string {
    const session = this.#sessionOf(req) ?? 'without';
    return createHmac('sha256', this.#ownKey).update(session).digest('base64url');
  }

  /** @returns a cookie if the token or key is valid, otherwise `null` */
  async enter(req: IncomingMessage, shown: string): Promise<string | null> {
    const { token, keys, clock, onSignedIn } = this.#options;
    const keyId = keys ? await keys.enter(shown) : token !== null && isSame(shown, token) ? '' : null;
    if (keyId === null) return null;
    const untilMs = Math.trunc(clock.nowMs()) + SESSION_MS;
    const seal = this.#seal(untilMs, keyId);
    if (seal !== null) onSignedIn?.(keyId);
    return seal === null ? null : cookie(req, [untilMs, ...(keys ? [keyId] : []), seal].join('.'), SESSION_MS / 1000);
  }

  /** The key with which the cookie was obtained, or `null`. */
  keyOf(req: IncomingMessage): string | null {
    const session = this.#sessionOf(req);
    return this.#options.keys === undefined ? null : (session?.split('.')[1] ?? null);
  }

  /** A cookie that replaces the one from `enter` and expires at once. */
  leave(req: IncomingMessage): string {
    return cookie(req, '', 0);
  }

  #shows(req: IncomingMessage): boolean {
    const { token, keys } = this.#options;
    if (keys) return keys.cameWithKey(req) || this.#sessionOf(req) !== null;
    if (token === null || this.#sessionOf(req) !== null) return true;
    const [, bearer = ''] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    return isSame(bearer, token);
  }

  /** The cookie's value if it is ours and has not expired. */
  #sessionOf(req: IncomingMessage): string | null {
    const value = cookiesOf(req).get(cookieName(req));
    const [until = '', ...rest] = value?.split('.') ?? [];
    if (!/^\d{1,16}$/.test(until) || Number(until) <= this.#options.clock.nowMs()) return null;
    const [keyId = '', given = ''] = this.#options.keys ? rest : ['', ...rest];
    const seal = this.#seal(Number(until), keyId);
    return value !== undefined && seal !== null && isSame(given, seal) ? value : null;
  }

  /**
   * The signature of a cookie. Survives restarts, and becomes invalid if the configured token or the key changes;
   * `null` for an invalid key.
   */
  #seal(untilMs: number, keyId: string): string | null {
    const { token, keys } = this.#options;
    const secret = keys ? keys.secretOf(keyId) : (token ?? this.#ownKey);
    return secret === null
      ? null
      : createHmac('sha256', secret).update(`mcp-pruner page ${untilMs}`).digest('base64url');
  }
}

/** Whether a request is a browser navigation, not a request made by a page. */
function followsLink({ method, headers }: IncomingMessage): boolean {
  const reads = method === 'GET' || method === 'HEAD';
  return reads && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function callerOf({ headers }: IncomingMessage): Caller {
  const { origin, host, 'sec-fetch-site': site } = headers;
  return { host, origin, secFetchSite: Array.isArray(site) ? site[0] : site };
}

/** Includes the port, because ports share cookies, and two servers must not mix them up. */
function cookieName({ socket }: IncomingMessage): string {
  return `mcp_pruner_page_${socket.localPort ?? 0}`;
}

function cookie(req: IncomingMessage, value: string, maxAgeS: number): string {
  return `${cookieName(req)}=${value}; Path=/page; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict`;
}

function cookiesOf({ headers }: IncomingMessage): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0) cookies.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim());
  }
  return cookies;
}

/** Compares digests, so that timing reveals nothing. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
