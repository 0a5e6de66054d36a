import type { Finding } from 'mcp-pruner/app/finding.ts';
import { fileReader, type Io } from 'mcp-pruner/cli/command.ts';
import { rpcAddress } from 'mcp-pruner/cli/local-access.ts';
import { type ProxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { providerOfWire } from 'mcp-pruner/wires/providers/facts.ts';
import { withoutQuery } from 'mcp-pruner/wires/providers/provider.ts';
import { clients } from '../clients/all.ts';
import { type Client, type ClientPlace, PROVIDER, type WireName } from '../clients/client.ts';
import { ownPart } from '../edit-text.ts';
import { unmarked } from '../run/mark.ts';
import { shellValues } from './addresses.ts';
import { postStatus } from './probe.ts';

export interface AgentFindings {
  readonly findings: readonly Finding[];
  readonly wires: ReadonlySet<WireName>;
  /** Text in their files at the places that `setup` writes. */
  readonly own: string;
}

interface Machine {
  readonly url: string;
  readonly io: Io;
  readonly place: ClientPlace;
  readonly running: ProxyHealth | null;
}

/** Checks the agents that are set up for this product, and whether their configuration is still valid. */
export async function checkAgents(settings: Settings, io: Io, running: ProxyHealth | null): Promise<AgentFindings> {
  const url = proxyUrl(settings);
  const place = { env: io.env, homeDir: io.homeDir, readFile: fileReader(io) };
  const seen = new Set<string>();
  const findings: Finding[] = [];
  const wires = new Set<WireName>();
  for (const client of clients) {
    const own = ownText(client, url, place);
    if (seen.has(own) || !isSetUp(own, url)) continue;
    seen.add(own);
    wires.add(client.wire);
    findings.push(await checkClient(client, own, { url, io, place, running }));
  }
  if (unmarked(io.env.OPENAI_BASE_URL ?? '').replace(/(?<!\/)\/+$/, '') === `${url}/v1` && running !== null) {
    findings.push({ level: 'ok', what: 'OPENAI_BASE_URL leads to the proxy' });
  }
  const own = [...seen].join('\n');
  if (findings.length > 0) return { findings, wires, own };
  const advice = `mcp-pruner setup <agent>, mcp-pruner run <agent>, or export OPENAI_BASE_URL=${url}/v1`;
  return { findings: [{ level: 'note', what: 'no agent is set up for the proxy', advice }], wires, own };
}

const OWN_ADDRESS = /http:\/\/(?:[\w.-]{1,253}|\[[\da-f:]{2,39}\])(?::\d{1,5})?(?=\/(?:v1|rpc|prune)\b)/gi;

/** The entries in an agent's files that `setup` writes. */
function ownText(client: Client, url: string, place: ClientPlace): string {
  const mcp = { transport: 'http', url: rpcAddress(url) } as const;
  const edits = client.edits({ baseUrl: `${url}/v1`, origin: url, mcp, model: null }, place);
  const text = edits.map((edit) => ownPart(place.readFile(edit.file), edit)).join('\n');
  // settings of an MCP server are not the proxy's URL
  return text.replaceAll(/"?MCP_PRUNER_\w{1,64}"?\s?[:=]\s?"[^"]{0,4096}",?/g, '');
}

/** Whether an entry contains our URL, because the same entry may point to another program. */
function isSetUp(own: string, url: string): boolean {
  const ours = own.includes(`"${url}`) || own.includes('/rpc') || own.includes(PROVIDER) || own.includes('--tools');
  return ours && (own.match(OWN_ADDRESS) !== null || own.includes(`"${url}"`) || own.includes('--tools'));
}

async function checkClient(client: Client, own: string, machine: Machine): Promise<Finding> {
  const { title, name } = client;
  const stale = staleness(own, machine);
  const again = `mcp-pruner setup ${name} --write`;
  if (stale !== null) return { level: 'failure', what: `${title} is set up ${stale}`, advice: again };
  const { running } = machine;
  if (running === null && (own.match(OWN_ADDRESS) !== null || own.includes(`"${machine.url}"`))) {
    const what = `${title} is set up for the proxy, which is not running`;
    return { level: 'failure', what, advice: 'mcp-pruner serve' };
  }
  const broken = client.problem?.(machine.place) ?? null;
  if (broken !== null) return { level: 'failure', what: `${title}: ${broken}`, advice: again };
  const missing = missingExport(client, machine);
  if (missing !== null) return { level: 'failure', ...missing };
  const bypass = bypassProblem(client, machine);
  if (bypass !== null) return { level: 'failure', ...bypass };
  const misled = otherUpstream(client, machine);
  if (misled !== null) return { level: 'failure', ...misled };
  const refused = await refusal(own);
  if (refused !== null) return { level: 'failure', what: `${title} is set up, but ${refused}`, advice: again };
  return { level: 'ok', what: `${title} is set up` };
}

function staleness(own: string, { url, io }: Machine): string | null {
  const other = (own.match(OWN_ADDRESS) ?? []).find((address) => address !== url);
  if (other !== undefined) return `for ${other}, not ${url}`;
  const moved = (own.match(/(?<=")[^"]{1,4096}\/dist\/(?:cli|index)\.js(?=")/g) ?? []).find(
    (path) => !io.fileExists(path),
  );
  return moved === undefined ? null : `to start ${moved}, which is not there`;
}

/** Checks agents that read the URL only from the environment, in this process or in a shell start-up file. */
function missingExport(
  client: Client,
  { url, io }: Machine,
): { readonly what: string; readonly advice: string } | null {
  const wanted = client.exports?.({ baseUrl: `${url}/v1`, origin: url, mcp: null, model: null }) ?? {};
  const [variable, address] = Object.entries(wanted).find(([, value]) => value.startsWith(url)) ?? [];
  if (variable === undefined) return null;
  const values = [io.env[variable], ...shellValues(io, variable).map(({ value }) => value)];
  if (values.some((value) => value?.startsWith(url))) return null;
  return {
    what: `${client.title} has the MCP server, but ${variable} does not lead to the proxy: nothing is pruned`,
    advice: `export ${variable}=${address} (mcp-pruner setup ${client.name} prints all that it needs)`,
  };
}

function bypassProblem(
  { title, name, cloud: cloudOf }: Client,
  { url, place }: Machine,
): { readonly what: string; readonly advice: string } | null {
  const cloud = cloudOf?.(place) ?? null;
  if (cloud === null) return null;
  const what = `${title} uses ${cloud.title} directly, not through the proxy: nothing is pruned`;
  if (cloud.signing === 'unknown') {
    const advice =
      'its requests are signed: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
    return { what, advice };
  }
  if (cloud.current.startsWith(url)) return null;
  return { what, advice: `set ${cloud.variable} with mcp-pruner setup ${name} --write, or use mcp-pruner run ${name}` };
}

/** Warns about a login for a provider other than the proxy's upstream. */
function otherUpstream(
  client: Client,
  { url, place, running }: Machine,
): { readonly what: string; readonly advice: string } | null {
  const wanted = client.upstream?.(place) ?? null;
  const { field, variable } = providerOfWire(client.wire);
  const reported = running?.upstreams.get(field);
  if (wanted === null || reported === undefined || !URL.canParse(wanted)) return null;
  const { origin } = new URL(wanted);
  if (origin === url || origin === reported) return null;
  return {
    what: `${client.title} is logged in for ${origin}, but the proxy forwards to ${reported}`,
    advice: `start the proxy with ${variable}=${wanted}, or use mcp-pruner run ${client.name}`,
  };
}

/** Whether the server accepts the agent's configured credentials. */
async function refusal(own: string): Promise<string | null> {
  const rpc = /https?:\/\/[^"\s\\]{1,512}\/rpc(?:\?[^"\s\\]{0,512})?/.exec(own)?.[0];
  if (rpc !== undefined) {
    const status = await postStatus(
      rpc,
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      /Bearer ([\x21\x23-\x7e]{1,512})/.exec(own)?.[1],
    );
    if (status !== 200) return `${withoutQuery(rpc)} answers its requests with ${status}`;
  }
  const prune = /"?PRUNER_URL"?\s?[:=]\s?"([^"]{1,512})"/.exec(own)?.[1];
  if (prune !== undefined && prune !== '') {
    const token = /"?PRUNER_TOKEN"?\s?[:=]\s?"([^"]{1,512})"/.exec(own)?.[1];
    const status = await postStatus(prune, { code: 'a line\n', query: 'a question' }, token);
    if (status !== 200) return `${prune} answers its requests with ${status}`;
  }
  return null;
}
