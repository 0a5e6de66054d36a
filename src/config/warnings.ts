import { providerFacts } from '../wires/providers/facts.ts';
import type { Settings, SettingTable } from './settings.ts';

/** Whether an address is only reachable from this machine: `127.x.x.x`, `::1` and localhost names. */
export function isLoopbackHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replaceAll(/[[\]]/g, '')
    .replace(/^::ffff:/, '')
    .replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** Names that only resolve in a local network: a single label, and the suffixes of RFC 6762, RFC 8375 and routers. */
const LOCAL_NAME = /^[^.:]+$|\.(?:local|lan|home\.arpa|localdomain|internal)$/;
/** Private, link-local and shared addresses of IPv4: RFC 1918, RFC 3927, RFC 6598. */
const LOCAL_ADDRESS =
  /^(?:10\.\d{1,3}|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.\d{1,3}\.\d{1,3}$/;
/** Unique local and link-local addresses of IPv6: RFC 4193, RFC 4291. */
const LOCAL_ADDRESS_6 = /^(?:f[cd][\da-f]{2}|fe[89ab][\da-f]):/;

/** Whether a URL points to this machine or the local network, where a model has no cache that expires by the clock. */
export function isLocalUrl(url: string): boolean {
  const name = new URL(url).hostname.toLowerCase().replaceAll(/[[\]]/g, '').replace(/\.$/, '');
  if (isLoopbackHost(name)) return true;
  if (name.includes(':')) return LOCAL_ADDRESS_6.test(name) || LOCAL_ADDRESS.test(mappedAddress(name));
  return LOCAL_NAME.test(name) || LOCAL_ADDRESS.test(name);
}

/** The IPv4 address in `::ffff:c0a8:114`, as URLs write `::ffff:192.168.1.20`; `''` for others. */
function mappedAddress(name: string): string {
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(name) ?? [];
  if (high === undefined || low === undefined) return '';
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join('.');
}

/** Whether a URL is Anthropic's own API, not a gateway, a cloud or another provider. */
export function isAnthropicsOwn(url: string): boolean {
  return URL.canParse(url) && new URL(url).hostname === 'api.anthropic.com';
}

/** Minimum length of tokens that other machines can try. */
const MIN_TOKEN_CHARS = 24;

/** Why a server must not start with these settings, in one line, or `null`. Only needed by commands that listen. */
export function servingProblem(settings: Settings, { parts }: SettingTable): string | null {
  const { host, authToken, localToken } = settings;
  for (const { key, variable } of providerFacts) {
    const url = settings[key];
    if (url === null || !isItself(url, settings)) continue;
    return (
      `the upstream ${url} (${variable}) is this proxy itself: set it to the address of the model's provider, or choose another port with ` +
      'MCP_PRUNER_PORT'
    );
  }
  for (const part of parts) {
    const problem = part.problem?.(settings) ?? null;
    if (problem !== null) return problem;
  }
  if (!isLoopbackHost(host)) {
    for (const [name, token] of Object.entries({ AUTH: authToken, ADMIN: settings.adminToken })) {
      if (token === null || token.length >= MIN_TOKEN_CHARS) continue;
      return (
        `MCP_PRUNER_${name}_TOKEN has ${token.length} characters, and host ${host} (MCP_PRUNER_HOST) gives other machines access: ` +
        `use ${MIN_TOKEN_CHARS} characters or more (for example from: openssl rand -hex 32), or listen on 127.0.0.1`
      );
    }
  }
  if (isLoopbackHost(host) || authToken !== null || localToken !== 'off' || isGuarded(settings, parts)) return null;
  return (
    `host ${host} (MCP_PRUNER_HOST) gives other machines access: set MCP_PRUNER_AUTH_TOKEN to a long random secret ` +
    '(for example from: openssl rand -hex 32) or MCP_PRUNER_LOCAL_TOKEN to auto, or listen on 127.0.0.1'
  );
}

/** Whether the upstream is the listening address, by name; other loops are detected at run time. */
function isItself(url: string, { host, port }: Settings): boolean {
  const { protocol, hostname, port: given } = new URL(url);
  const upstreamPort = Number(given) || (protocol === 'https:' ? 443 : 80);
  if (protocol !== 'http:' || port !== upstreamPort) return false;
  const everywhere = (name: string): boolean => /^\[?(?:0\.0\.0\.0|::)\]?$/.test(name);
  const here = (name: string): boolean => isLoopbackHost(name) || everywhere(name);
  return hostname === host.toLowerCase() || (here(hostname) && here(host));
}

/** Warnings about valid but probably unintended settings, one line each. */
export function settingsWarnings(settings: Settings): string[] {
  const warnings: string[] = [];
  const { authToken, backend } = settings;
  const addresses = {
    ...Object.fromEntries(providerFacts.map(({ variable, key }) => [variable, settings[key]])),
    ...(backend === 'deepinfra' ? { DEEPINFRA_ENDPOINT_URL: settings.deepinfraEndpointUrl } : {}),
    ...(backend === 'swe-pruner' ? { MCP_PRUNER_SWE_PRUNER_URL: settings.swePrunerUrl } : {}),
  };
  for (const [name, address] of Object.entries(addresses)) {
    if (address === null) continue;
    const { protocol, hostname } = new URL(address);
    if (protocol !== 'http:' || isLoopbackHost(hostname)) continue;
    warnings.push(`${name} is plain http to another machine: keys and texts travel unencrypted; use https`);
  }
  for (const [name, token] of Object.entries({ AUTH: authToken, ADMIN: settings.adminToken })) {
    if (token === null || token.length >= 16) continue;
    warnings.push(`MCP_PRUNER_${name}_TOKEN is short enough to be guessed: use 16 characters or more`);
  }
  if (backend === 'deepinfra' && settings.deepinfraApiKey === null) {
    warnings.push('the backend deepinfra has no DEEPINFRA_API_KEY: every text is ranked by the heuristic instead');
  }
  if (backend === 'swe-pruner' && settings.swePrunerUrl === null) {
    warnings.push(
      'the backend swe-pruner has no MCP_PRUNER_SWE_PRUNER_URL: every text is ranked by the heuristic instead',
    );
  }
  return warnings;
}

/** Whether a part authenticates every caller. */
export function isGuarded(settings: Settings, parts: SettingTable['parts']): boolean {
  return parts.some(({ guard }) => guard !== undefined && settings[guard] === true);
}
