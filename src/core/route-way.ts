/** Proxies that requests leave this machine by, as `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name them. */
export interface ProxySettings {
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: readonly string[];
}

/** Which way requests to an address go. */
export interface Way {
  /** Address of the proxy with its user name and password, or `null` for the direct way. */
  readonly proxy: string | null;
  /** For people: without user name and password. */
  readonly shown: string;
}

const DIRECT: Way = { proxy: null, shown: 'direct' };

/**
 * Which way requests to an address go: by the rules of curl and undici's `EnvHttpProxyAgent`. `NO_PROXY` names hosts with
 * all that lies below them, with or without a port, or `*`; loopback addresses are no exception.
 */
export function wayTo(url: string, { httpProxy, httpsProxy, noProxy }: ProxySettings): Way {
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
