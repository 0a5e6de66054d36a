/** The headers that say who sends a request and to whom. */
export interface Caller {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, which only browsers send. */
  readonly secFetchSite: string | undefined;
}

/** Permitted callers, apart from programs and our own pages. */
export interface Allowed {
  /** Our names in addition to the loopback ones: `name` (any port) or `name:port`, lower case. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of other pages, lower case. */
  readonly origins: ReadonlySet<string>;
  /** Programs may use any host name: other machines reach this one under names that are not configured. */
  readonly anyHost: boolean;
}

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(?::(\d{1,5}))?$/;
const LOOPBACK_V4 = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
/** What a browser sends for one of our own pages, or for an address that its user typed. */
const OWN_SITES = new Set(['same-origin', 'none']);

/** @param anyHost - see `Allowed`; false unless other machines are let in on purpose */
export function allowedCallers(hosts: readonly string[], origins: readonly string[], anyHost = false): Allowed {
  return {
    hosts: new Set(hosts.map((host) => host.toLowerCase())),
    origins: new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, ''))),
    anyHost,
  };
}

/**
 * Whether a foreign web page may have sent this. A page can post to 127.0.0.1 from anywhere, and it can make one of its
 * own host names resolve to it (DNS rebinding), but then the browser names the page: in `Origin` on every post,
 * otherwise in `Sec-Fetch-Site` or `Host`. A request without these headers was sent by a program.
 */
export function isForeign(caller: Caller, allowed: Allowed): boolean {
  return isForeignPage(caller, allowed) || isForeignHost(caller, allowed);
}

/**
 * Whether a page sends this to a host name that is its own and not ours: its name was pointed here (DNS rebinding), so
 * that it could read the answer.
 */
export function isRebound({ host = '', origin, secFetchSite }: Caller, allowed: Allowed): boolean {
  const lower = host.toLowerCase();
  if (isOurs(lower, allowed.hosts)) return false;
  if (origin === undefined) return secFetchSite?.toLowerCase() === 'same-origin';
  return !allowed.origins.has(origin.toLowerCase()) && authorityOf(origin.toLowerCase()) === lower;
}

/** Whether a page that is neither ours nor listed sends this; another port of this machine is another page. */
export function isForeignPage({ host, origin, secFetchSite }: Caller, allowed: Allowed): boolean {
  if (origin === undefined) return secFetchSite !== undefined && !OWN_SITES.has(secFetchSite.toLowerCase());
  const lower = origin.toLowerCase();
  if (allowed.origins.has(lower)) return false;
  const authority = authorityOf(lower);
  return authority === '' || authority !== host?.toLowerCase() || !isOurs(authority, allowed.hosts);
}

/** Whether the request's Host header names another host than this proxy. */
export function isForeignHost({ host, origin }: Caller, allowed: Allowed): boolean {
  if (allowed.anyHost && origin === undefined) return false;
  return !isOurs(host?.toLowerCase() ?? '', allowed.hosts);
}

function isOurs(authority: string, hosts: ReadonlySet<string>): boolean {
  const [, name] = AUTHORITY.exec(authority) ?? [];
  if (name === undefined) return false;
  return name === 'localhost' || name === '[::1]' || LOOPBACK_V4.test(name) || hosts.has(name) || hosts.has(authority);
}

/** Host and port of a web origin; empty for `null`, for other schemes and for anything that is not an origin. */
function authorityOf(origin: string): string {
  if (!URL.canParse(origin)) return '';
  const { protocol, host } = new URL(origin);
  return protocol === 'http:' || protocol === 'https:' ? host : '';
}
