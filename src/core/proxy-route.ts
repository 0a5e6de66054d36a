import { BlockList, isIP } from 'node:net';

/** Settings for outgoing forward proxies: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. */
export interface ProxySettings {
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: readonly string[];
}

/** The route of outgoing requests to an address. */
export interface ProxyRoute {
  /** URL of the forward proxy with user name and password; `null` for a direct connection. */
  readonly proxy: string | null;
  /** Display form, without user name and password. */
  readonly shown: string;
}

const DIRECT: ProxyRoute = { proxy: null, shown: 'direct' };

/**
 * The route to an address, by the rules of curl and undici's `EnvHttpProxyAgent`. `NO_PROXY` lists hosts, including
 * their subdomains, with or without a port, IP addresses, CIDR ranges (`10.0.0.0/8`), or `*`, separated by commas or
 * blanks. Loopback addresses get no special treatment.
 */
export function routeTo(url: string, { httpProxy, httpsProxy, noProxy }: ProxySettings): ProxyRoute {
  const { protocol, host, port } = new URL(url);
  const name = unbracketed(host.replace(/:\d*$/, '').toLowerCase());
  const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  const proxy = protocol === 'https:' ? (httpsProxy ?? httpProxy) : httpProxy;
  if (proxy === null || noProxy.some((entries) => entries.split(/\s/).some((entry) => excepts(entry, name, number))))
    return DIRECT;
  return { proxy, shown: `via proxy ${new URL(proxy).origin}` };
}

function excepts(entry: string, name: string, port: string): boolean {
  if (entry === '*') return true;
  const slash = entry.indexOf('/');
  if (slash > 0) return isWithin(name, entry.slice(0, slash), Number(entry.slice(slash + 1)));
  // the colons in an unbracketed IPv6 address do not introduce a port
  const [, host = entry, only] = isIP(entry) ? [] : (/^(.+):(\d+)$/.exec(entry) ?? []);
  if (only !== undefined && only !== port) return false;
  if (isIP(unbracketed(host))) return isWithin(name, unbracketed(host), isIP(unbracketed(host)) === 6 ? 128 : 32);
  const bare = host.replace(/^\*?\./, '').toLowerCase();
  return name === bare || name.endsWith(`.${bare}`);
}

/** Whether an address is in a range, in any spelling; `false` if either is not a valid address. */
function isWithin(address: string, network: string, bits: number): boolean {
  const family = (ip: string) => (isIP(ip) === 6 ? 'ipv6' : 'ipv4');
  if (isIP(address) === 0 || isIP(network) === 0 || !(bits >= 0 && bits <= (isIP(network) === 6 ? 128 : 32)))
    return false;
  const range = new BlockList();
  range.addSubnet(network, bits, family(network));
  return range.check(address, family(address));
}

function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
