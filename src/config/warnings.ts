import type { Settings } from './settings.ts';

/** Whether only this machine can reach an address: `127.x.x.x`, `::1` and the names of localhost. */
export function isLoopbackHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replaceAll(/[[\]]/g, '')
    .replace(/^::ffff:/, '')
    .replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/**
 * Why a server must not be started with these settings, in one line, or `null`. Commands that do not listen need not
 * ask.
 */
export function servingProblem(settings: Settings): string | null {
  const { host, authToken, localToken } = settings;
  if (isLoopbackHost(host) || authToken !== null || localToken !== 'off') return null;
  return (
    `host ${host} (MCP_PRUNER_HOST) lets other machines in: set MCP_PRUNER_AUTH_TOKEN to a long random secret ` +
    '(for example from: openssl rand -hex 32) or MCP_PRUNER_LOCAL_TOKEN to auto, or listen on 127.0.0.1'
  );
}

/** What is allowed but probably not meant, one line each. */
export function settingsWarnings(settings: Settings): string[] {
  const warnings: string[] = [];
  const { authToken, backend } = settings;
  const addresses = {
    MCP_PRUNER_UPSTREAM_URL: settings.upstreamUrl,
    ...(backend === 'deepinfra' ? { DEEPINFRA_ENDPOINT_URL: settings.deepinfraEndpointUrl } : {}),
    ...(backend === 'swe-pruner' ? { MCP_PRUNER_SWE_PRUNER_URL: settings.swePrunerUrl } : {}),
  };
  for (const [name, address] of Object.entries(addresses)) {
    if (address === null) continue;
    const { protocol, hostname } = new URL(address);
    if (protocol !== 'http:' || isLoopbackHost(hostname)) continue;
    warnings.push(`${name} is plain http to another machine: keys and texts travel unencrypted; use https`);
  }
  if (authToken !== null && authToken.length < 16) {
    warnings.push('MCP_PRUNER_AUTH_TOKEN is short enough to be guessed: use 16 characters or more');
  }
  if (backend === 'deepinfra' && settings.deepinfraApiKey === null) {
    warnings.push('the backend deepinfra has no DEEPINFRA_API_KEY: every text is ranked by heuristic instead');
  }
  if (backend === 'swe-pruner' && settings.swePrunerUrl === null) {
    warnings.push('the backend swe-pruner has no MCP_PRUNER_SWE_PRUNER_URL: every text is ranked by heuristic instead');
  }
  return warnings;
}
