import type { Finding } from 'mcp-pruner/app/finding.ts';
import { type ProxyHealth, proxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import type { Loaded } from 'mcp-pruner/config/load.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { routeTo } from 'mcp-pruner/core/proxy-route.ts';
import type { Dialect } from 'mcp-pruner/wires/dialects/dialect.ts';
import { facts, type ProviderFacts, providerFacts, providerOfWire } from 'mcp-pruner/wires/providers/facts.ts';
import type { WireName } from '../clients/client.ts';
import { probe } from './probe.ts';

interface PortFinding {
  readonly finding: Finding;
  readonly health: ProxyHealth | null;
}

export async function checkPort(settings: Settings): Promise<PortFinding> {
  const url = proxyUrl(settings);
  const none = (finding: Finding): PortFinding => ({ finding, health: null });
  if (settings.port === 0)
    return none({ level: 'note', what: 'the port is 0 (any free port), so agents cannot be configured with it' });
  const health = await proxyHealth(url);
  if (health !== null) return { finding: { level: 'ok', what: `the proxy answers at ${url}` }, health };
  if ((await probe(url)) === null) {
    const advice = 'choose another with MCP_PRUNER_PORT, or stop that program';
    return none({ level: 'failure', what: `another program answers at ${url}`, advice });
  }
  return none({ level: 'note', what: `no proxy runs at ${url}`, advice: 'start it: mcp-pruner serve' });
}

/**
 * Checks whether the upstreams of the running proxy, or else of these settings, are reachable: those that are configured,
 * and those of agents that are set up or ran in the last month. Reports which were not checked.
 *
 * @param wires - wires of configured agents
 * @param ran - wires of the requests of the last month
 */
export async function checkUpstreams(
  { settings, origins }: Loaded,
  running: ProxyHealth | null,
  wires: ReadonlySet<WireName>,
  ran: Iterable<Dialect['name']>,
): Promise<Finding[]> {
  const used = new Set<ProviderFacts>([...wires, ...ran].map(providerOfWire));
  // on a new machine nothing is used yet
  if (used.size === 0) used.add(facts.openai);
  const set = providerFacts.filter(({ key }) => settings[key] !== null);
  const tried = set.filter((provider) => used.has(provider) || origins[provider.key].from !== 'default');
  const others = set.filter((provider) => !tried.includes(provider));
  const what = `not checked, because no agent uses it: ${others.map(({ key }) => withoutSecrets(settings[key] ?? '')).join(', ')}`;
  const unused: Finding[] = others.length === 0 ? [] : [{ level: 'ok', what }];
  return [
    ...(await Promise.all(tried.map((provider) => checkProvider(provider, settings, running)))).flat(),
    ...unused,
  ];
}

async function checkProvider(
  provider: ProviderFacts,
  settings: Settings,
  running: ProxyHealth | null,
): Promise<Finding[]> {
  const { title, key, variable, field } = provider;
  const own = settings[key] ?? '';
  const reported = running?.upstreams.get(field);
  const other = reported !== undefined && reported !== new URL(own).origin;
  const url = other ? reported : withoutSecrets(own);
  const reached = await checkWay(
    `the ${title} ${url}`,
    other ? reported : `${withoutSecrets(own)}/models`,
    variable,
    settings,
  );
  if (!other) return [reached];
  const what = `the running proxy forwards to ${reported}, but this environment names ${new URL(own).origin} (${variable})`;
  return [reached, { level: 'note', what, advice: 'restart the proxy with the intended settings' }];
}

/** Tests a URL by the route of its requests: directly, or up to the outbound proxy. */
async function checkWay(name: string, url: string, variable: string, settings: Settings): Promise<Finding> {
  const way = routeTo(url, settings.networkProxies);
  const problem = await probe(way.proxy === null ? url : new URL(way.proxy).origin);
  if (way.proxy !== null) {
    const what = `${name} is reached ${way.shown}`;
    if (problem === null) return { level: 'ok', what: `${what}, which answers` };
    const advice = 'check HTTPS_PROXY and HTTP_PROXY; NO_PROXY lists hosts that are reached directly';
    return { level: 'failure', what: `${what}, which cannot be reached: ${problem}`, advice };
  }
  if (problem === null) return { level: 'ok', what: `${name} answers` };
  const advice = `check ${variable}, the name and the network`;
  return { level: 'failure', what: `${name} cannot be reached: ${problem}`, advice };
}

/** Strips user name, password and query, which may contain a key. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/(?<!\/)\/+$/, '');
}
