/** Headers that identify the sender and the target of a request. */
export interface Caller {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, which only browsers send. */
  readonly secFetchSite: string | undefined;
}

/** Permitted callers, apart from programs and our own pages. */
export interface Allowed {
  /** Own host names in addition to the loopback ones: `name` (any port) or `name:port`, lower case. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of permitted other pages, lower case. */
  readonly origins: ReadonlySet<string>;
  /** Programs may use any host name, because other machines reach this one under unconfigured names. */
  readonly anyHost: boolean;
}

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(?::(\d{1,5}))?$/;
const LOOPBACK_V4 = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
/** Values that a browser sends for our own pages, or for a URL typed by the user. */
const OWN_SITES = new Set(['same-origin', 'none']);

/** @param anyHost - see `Allowed`; false unless remote access is enabled */
export function allowedCallers(hosts: readonly string[], origins: readonly string[], anyHost = false): Allowed {
  return {
    hosts: new Set(hosts.map((host) => host.toLowerCase())),
    origins: new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, ''))),
    anyHost,
  };
}

/**
 * Whether a foreign web page may have sent this. A page can post to 127.0.0.1 from anywhere, and it can make one of its
 * own host names resolve to it (DNS rebinding), but then the browser identifies the page: in `Origin` on every POST,
 * otherwise in `Sec-Fetch-Site` or `Host`. Requests without these headers come from programs.
 */
export function isForeign(caller: Caller, allowed: Allowed): boolean {
  return isForeignPage(caller, allowed) || isForeignHost(caller, allowed);
}

/**
 * Whether a page addressed its own host name, which resolves to this server (DNS rebinding), so that it could read the
 * answer.
 */
export function isRebound({ host = '', origin, secFetchSite }: Caller, allowed: Allowed): boolean {
  const lower = host.toLowerCase();
  if (isOurs(lower, allowed.hosts)) return false;
  if (origin === undefined) return secFetchSite?.toLowerCase() === 'same-origin';
  return !allowed.origins.has(origin.toLowerCase()) && authorityOf(origin.toLowerCase()) === lower;
}

/** Whether the request comes from a page that is neither ours nor allowed. Other ports count as foreign. */
export function isForeignPage({ host, origin, secFetchSite }: Caller, allowed: Allowed): boolean {
  if (origin === undefined) return secFetchSite !== undefined && !OWN_SITES.has(secFetchSite.toLowerCase());
  const lower = origin.toLowerCase();
  if (allowed.origins.has(lower)) return false;
  const authority = authorityOf(lower);
  return authority === '' || authority !== host?.toLowerCase() || !isOurs(authority, allowed.hosts);
}

/** Whether the Host header names another host than this proxy. */
export function isForeignHost({ host, origin }: Caller, allowed: Allowed): boolean {
  if (allowed.anyHost && origin === undefined) return false;
  return !isOurs(host?.toLowerCase() ?? '', allowed.hosts);
}

function isOurs(authority: string, hosts: ReadonlySet<string>): boolean {
  const [, name] = AUTHORITY.exec(authority) ?? [];
  if (name === undefined) return false;
  return name === 'localhost' || name === '[::1]' || LOOPBACK_V4.test(name) || hosts.has(name) || hosts.has(authority);
}

/** Host and port of a web origin; empty for `null`, other schemes and invalid origins. */
function authorityOf(origin: string): string {
  if (!URL.canParse(origin)) return '';
  const { protocol, host } = new URL(origin);
  return protocol === 'http:' || protocol === 'https:' ? host : '';
}
