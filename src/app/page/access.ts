import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/ports.ts';
import { type Allowed, type Caller, isForeignHost, isForeignPage } from '../../core/web-origin.ts';

export interface PageAccessOptions {
  readonly allowed: Allowed;
  /** The token that callers must present; `null` if pages and programs of this machine need none. */
  readonly token: string | null;
  /** If present, callers show one of many keys instead of the token. */
  readonly keys?: PageKeys;
  readonly clock: Clock;
  /** Called when somebody has signed in; `keyId` is `''` for a sign-in with the token. */
  readonly onSignedIn?: (keyId: string) => void;
}

/** Keys as the page knows them. */
export interface PageKeys {
  /** The id of a key that a user typed, `null` for none that opens anything. */
  enter(shown: string): Promise<string | null>;
  /** The secret with which a cookie for this key is sealed; `null` once the key is void. */
  secretOf(keyId: string): string | null;
  /** Whether a request has its own key. */
  cameWithKey(req: IncomingMessage): boolean;
}

/** Why a request is turned away. */
export type Refusal = 'forbidden_origin' | 'forbidden_host' | 'unauthorized' | 'page_token_needed';

/** The header in which the page proves that it was able to read an answer of this server. */
const PAGE_TOKEN_HEADER = 'x-mcp-pruner-page';
/** How long the page remembers that its user has shown the token. */
const SESSION_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * Who may use the page. Pages of other origins are refused by their headers (`core/web-origin.ts`). Where a token is
 * configured, the user enters it once and gets a cookie that no script can read. A request that changes something also
 * needs a token of this process, which only a page that can read its answers has.
 */
export class PageAccess {
  readonly #options: PageAccessOptions;
  readonly #ownKey = randomBytes(32);

  constructor(options: PageAccessOptions) {
    if (options.token === '') throw new Error('the token of the page is empty'); // would let a missing one pass
    this.#options = options;
  }

  /** Whether keys are shown, in the place of a token. */
  get takesKeys(): boolean {
    return this.#options.keys !== undefined;
  }

  /** Whether a token must be shown at all. */
  get asksForToken(): boolean {
    return this.#options.token !== null || this.#options.keys !== undefined;
  }

  /**
   * Why a page or a name that is not ours is refused; `null` for all others.
   *
   * @param isEmpty - the requested page contains no data, so that links of other sites may open it
   */
  foreign(req: IncomingMessage, isEmpty = false): Refusal | null {
    const caller = callerOf(req);
    const { allowed } = this.#options;
    if (isForeignPage(caller, allowed) && !(isEmpty && followsLink(req))) return 'forbidden_origin';
    // regardless of the token: a browser always sends the host name of the address
    return isForeignHost(caller, { ...allowed, anyHost: false }) ? 'forbidden_host' : null;
  }

  /** Why a request that is not foreign may see nothing; `null` if it may see data. */
  unknown(req: IncomingMessage): Refusal | null {
    return this.#shows(req) ? null : 'unauthorized';
  }

  /** Why a request with read access may not change data; `null` if it may. */
  unproven(req: IncomingMessage): Refusal | null {
    const given = req.headers[PAGE_TOKEN_HEADER];
    return typeof given === 'string' && isSame(given, this.pageToken(req)) ? null : 'page_token_needed';
  }

  /** The token that actions of this caller must bring. */
  pageToken(req: IncomingMessage): string {
    const session = this.#sessionOf(req) ?? 'without';
    return createHmac('sha256', this.#ownKey).update(session).digest('base64url');
  }

  /** @returns the cookie for a caller who shows the right token, or a key; else `null` */
  async enter(req: IncomingMessage, shown: string): Promise<string | null> {
    const { token, keys, clock, onSignedIn } = this.#options;
    const keyId = keys ? await keys.enter(shown) : token !== null && isSame(shown, token) ? '' : null;
    if (keyId === null) return null;
    const untilMs = Math.trunc(clock.nowMs()) + SESSION_MS;
    const seal = this.#seal(untilMs, keyId);
    if (seal !== null) onSignedIn?.(keyId);
    return seal === null ? null : cookie(req, [untilMs, ...(keys ? [keyId] : []), seal].join('.'), SESSION_MS / 1000);
  }

  /** The key that a caller showed for the cookie, or `null`. */
  keyOf(req: IncomingMessage): string | null {
    const session = this.#sessionOf(req);
    return this.#options.keys === undefined ? null : (session?.split('.')[1] ?? null);
  }

  /** The cookie that replaces the one from `enter` and expires at once. */
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

  /** The value of the cookie if it is one that we gave and its time is not over. */
  #sessionOf(req: IncomingMessage): string | null {
    const value = cookiesOf(req).get(cookieName(req));
    const [until = '', ...rest] = value?.split('.') ?? [];
    if (!/^\d{1,16}$/.test(until) || Number(until) <= this.#options.clock.nowMs()) return null;
    const [keyId = '', given = ''] = this.#options.keys ? rest : ['', ...rest];
    const seal = this.#seal(Number(until), keyId);
    return value !== undefined && seal !== null && isSame(given, seal) ? value : null;
  }

  /**
   * The signature of a cookie. It survives a restart, and becomes invalid if the configured token or the key changes;
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

/** Whether a browser navigates to a page, as opposed to a request made by a page. */
function followsLink({ method, headers }: IncomingMessage): boolean {
  const reads = method === 'GET' || method === 'HEAD';
  return reads && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function callerOf({ headers }: IncomingMessage): Caller {
  const { origin, host, 'sec-fetch-site': site } = headers;
  return { host, origin, secFetchSite: Array.isArray(site) ? site[0] : site };
}

/** Cookies belong to a name, not to a port: two servers of this machine must not take each other's. */
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

/** Compares digests, so that the time it takes reveals nothing. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
