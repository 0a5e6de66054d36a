/** Forward proxies used for outgoing requests, from `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. */
export interface ProxySettings {
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: readonly string[];
}

/** The route of outgoing requests to an address. */
export interface ProxyRoute {
  /** Address of the forward proxy with its user name and password; `null`: a direct connection. */
  readonly proxy: string | null;
  /** For people: without user name and password. */
  readonly shown: string;
}

const DIRECT: ProxyRoute = { proxy: null, shown: 'direct' };

/**
 * The route to an address, by the rules of curl and undici's `EnvHttpProxyAgent`. `NO_PROXY` lists hosts, including
 * their subdomains, with or without a port, or `*`; loopback addresses are no exception.
 */
export function routeTo(url: string, { httpProxy, httpsProxy, noProxy }: ProxySettings): ProxyRoute {
  const { protocol, host, port } = new URL(url);
  const name = host.replace(/:\d*$/, '').toLowerCase();
  const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  const proxy = protocol === 'https:' ? (httpsProxy ?? httpProxy) : httpProxy;
  if (proxy === null || noProxy.some((entry) => excepts(entry, name, number))) return DIRECT;
  return { proxy, shown: `via proxy ${new URL(proxy).origin}` };
}

function excepts(entry: string, name: string, port: string): boolean {
  if (entry === '*') return true;
  const [, host = entry, only] = /^(.+):(\d+)$/.exec(entry) ?? [];
  if (only !== undefined && only !== port) return false;
  const bare = host.replace(/^\*?\./, '').toLowerCase();
  return name === bare || name.endsWith(`.${bare}`);
}
