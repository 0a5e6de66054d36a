/** Proxies that requests leave this machine by, as `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name them. */
export interface ProxySettings {
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: readonly string[];
}

/** How requests to an address leave this machine. */
export interface ProxyRoute {
  /** Address of the forward proxy with its user name and password; `null`: a direct connection. */
  readonly proxy: string | null;
  /** For people: without user name and password. */
  readonly shown: string;
}

const DIRECT: ProxyRoute = { proxy: null, shown: 'direct' };

/**
 * The route to an address, by the rules of curl and undici's `EnvHttpProxyAgent`. `NO_PROXY` names hosts with
 * all that lies below them, with or without a port, or `*`; loopback addresses are no exception.
 */
export function routeTo(url: string, { httpProxy, httpsProxy, noProxy }: ProxySettings): ProxyRoute {
  const { protocol, host, port } = new URL(url);
  const name = host.replace(/:\d*$/, '').toLowerCase();
  const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  const proxy = protocol === 'https:' ? (httpsProxy ?? httpProxy) : httpProxy;
  if (proxy === null || noProxy.some((entry) => excepts(entry, name, number))) return DIRECT;
  return { proxy, shown: `by the proxy ${new URL(proxy).origin}` };
}

function excepts(entry: string, name: string, port: string): boolean {
  if (entry === '*') return true;
  const [, host = entry, only] = /^(.+):(\d+)$/.exec(entry) ?? [];
  if (only !== undefined && only !== port) return false;
  const bare = host.replace(/^\*?\./, '').toLowerCase();
  return name === bare || name.endsWith(`.${bare}`);
}
