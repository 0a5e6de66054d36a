import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { clients } from '../agents/clients/all.ts';
import type { Client } from '../agents/clients/client.ts';
import { ownPart } from '../agents/edit-text.ts';
import type { Loaded } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { SettingsError } from '../config/settings-error.ts';
import { servingProblem } from '../config/warnings.ts';
import { type Call, type Command, configOption, type Io } from './command.ts';
import { fileReader } from './file-reader.ts';
import { readSettings } from './read-settings.ts';
import { isProxy, proxyUrl } from './run-proxy.ts';
import { painter } from './terminal.ts';

/** What was found; `advice` says what to do. Only a failure makes the exit code 1. */
export interface Finding {
  readonly level: 'ok' | 'note' | 'failure';
  readonly what: string;
  readonly advice?: string;
}

/** The oldest Node that this program runs on. */
const NODE: readonly [number, number, number] = [20, 18, 1];
const PROBE_MS = 5_000;

export const doctor: Command = {
  usage: 'doctor [--json]',
  about:
    'Checks Node, configuration, port, upstream, store, token and the agents that are set up, and says what to do.\nExits with 1 when something is broken. Sends no key and no text anywhere.',
  options: { ...configOption, json: { type: 'boolean', doc: 'print JSON' } },
  arguments: { least: 0, most: 0 },

  async run(call, io) {
    const findings = await examine(call, io);
    if (call.values.json === true) io.out(`${JSON.stringify(findings, null, 2)}\n`);
    else for (const finding of findings) io.out(line(finding, io));
    return findings.some(({ level }) => level === 'failure') ? 1 : 0;
  },
};

function line({ level, what, advice }: Finding, io: Io): string {
  const paint = painter(io);
  const sign = { ok: paint('green', 'ok  '), note: paint('yellow', 'note'), failure: paint('red', 'FAIL') }[level];
  return `${sign}  ${what}${advice === undefined ? '' : `\n      ${advice}`}\n`;
}

async function examine(call: Call, io: Io): Promise<Finding[]> {
  let loaded: Loaded;
  try {
    loaded = readSettings(call, io);
  } catch (cause) {
    if (!(cause instanceof SettingsError)) throw cause;
    return [checkNode(process.versions.node), ...cause.problems.map((what) => ({ level: 'failure', what }) as const)];
  }
  const { settings } = loaded;
  const [port, upstream, store] = await Promise.all([
    checkPort(settings),
    checkUpstream(settings),
    checkStore(settings, io),
  ]);
  return [
    checkNode(process.versions.node),
    ...checkConfiguration(loaded),
    checkToken(settings),
    port,
    upstream,
    store,
    ...checkClients(settings, io, port.level === 'ok'),
  ];
}

export function checkNode(version: string): Finding {
  const have = version.split('.').map(Number);
  const at = NODE.findIndex((part, i) => have[i] !== part);
  const enough = at === -1 || (have[at] ?? 0) > (NODE[at] ?? 0);
  if (enough) return { level: 'ok', what: `Node ${version}` };
  return { level: 'failure', what: `Node ${version} is too old`, advice: `install ${NODE.join('.')} or newer` };
}

function checkConfiguration({ configFile, warnings }: Loaded): Finding[] {
  const file: Finding = { level: 'ok', what: `configuration: ${configFile ?? 'no file, environment and defaults'}` };
  return [file, ...warnings.map((what) => ({ level: 'note', what }) as const)];
}

function checkToken(settings: Settings): Finding {
  const problem = servingProblem(settings);
  if (problem !== null) return { level: 'failure', what: problem };
  const what = settings.authToken === null ? 'no token needed: only this machine is let in' : 'a token is set';
  return { level: 'ok', what };
}

async function checkPort(settings: Settings): Promise<Finding> {
  const url = proxyUrl(settings);
  if (settings.port === 0) return { level: 'note', what: 'the port is any free one: agents cannot be told where' };
  if (await isProxy(url)) return { level: 'ok', what: `the proxy answers at ${url}` };
  const problem = await probe(url);
  if (problem === null) {
    const advice = 'choose another with MCP_PRUNER_PORT, or stop that program';
    return { level: 'failure', what: `another program answers at ${url}`, advice };
  }
  return { level: 'note', what: `no proxy runs at ${url}`, advice: 'start it: mcp-pruner serve' };
}

async function checkUpstream({ upstreamUrl }: Settings): Promise<Finding> {
  const problem = await probe(`${upstreamUrl}/models`);
  if (problem === null) return { level: 'ok', what: `the upstream ${upstreamUrl} answers` };
  const advice = 'check MCP_PRUNER_UPSTREAM_URL, the name and the network';
  return { level: 'failure', what: `the upstream ${upstreamUrl} cannot be reached: ${problem}`, advice };
}

/** Whether anything answers, with whatever status. @returns why not */
async function probe(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(PROBE_MS) });
    await response.body?.cancel();
    return null;
  } catch (cause) {
    return reasonOf(cause);
  }
}

function reasonOf(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string') return error.code;
  }
  return cause instanceof Error ? cause.name : String(cause);
}

async function checkStore(settings: Settings, io: Io): Promise<Finding> {
  const { dbPath: path } = settings;
  if (path === ':memory:') {
    return { level: 'note', what: 'the store is in memory only: a restart loses all originals' };
  }
  const advice = 'correct its rights or MCP_PRUNER_DB_PATH; a file that is broken can be moved away';
  if (!io.fileExists(path)) {
    const folder = nearestFolder(path);
    return isWritable(folder) && statSync(folder).isDirectory()
      ? { level: 'ok', what: `the store ${path} will be made at the first start` }
      : {
          level: 'failure',
          what: `the store ${path} cannot be made: ${folder} is no folder that can be written to`,
          advice,
        };
  }
  if (!isWritable(path)) return { level: 'failure', what: `the store ${path} is not writable`, advice };
  const { openStore } = await import('../app/store.ts');
  const store = openStore(settings, { readonly: true, clock: io.clock });
  try {
    const { prunes, bytes } = await store.stats();
    return { level: 'ok', what: `the store ${path} holds ${prunes} prunes in ${Math.ceil(bytes / 1024)} KiB` };
  } catch {
    const why = store.problem()?.message ?? 'it cannot be read';
    return { level: 'failure', what: `the store ${path} is of no use: ${why}`, advice };
  } finally {
    await store.close();
  }
}

function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The agents that are set up for this product, and whether what they were told is still so. */
function checkClients(settings: Settings, io: Io, proxyRuns: boolean): Finding[] {
  const url = proxyUrl(settings);
  const seen = new Set<string>();
  const found = clients.flatMap((client): Finding[] => {
    const own = ownText(client, io, url);
    const addresses = own.match(OWN_ADDRESS) ?? [];
    if (seen.has(own) || (addresses.length === 0 && !own.includes('--tools'))) return [];
    seen.add(own);
    const problem = clientProblem(own, addresses, url, io, proxyRuns);
    if (problem === null) return [{ level: 'ok', what: `${client.title} is set up` }];
    const advice = proxyRuns ? `mcp-pruner setup ${client.name} --write` : 'mcp-pruner serve';
    return [{ level: 'failure', what: `${client.title} is set up ${problem}`, advice }];
  });
  if (io.env.OPENAI_BASE_URL?.replace(/(?<!\/)\/+$/, '') === `${url}/v1`) {
    found.push({ level: 'ok', what: 'OPENAI_BASE_URL leads to the proxy' });
  }
  if (found.length > 0) return found;
  const advice = `mcp-pruner setup <agent>, mcp-pruner run <agent>, or export OPENAI_BASE_URL=${url}/v1`;
  return [{ level: 'note', what: 'no agent is set up for the proxy', advice }];
}

const OWN_ADDRESS = /http:\/\/(?:[\w.-]{1,253}|\[[\da-f:]{2,39}\])(?::\d{1,5})?(?=\/(?:v1|rpc|prune)\b)/gi;

/** What stands in the agent's files where `setup` writes. */
function ownText(client: Client, io: Io, url: string): string {
  const place = { env: io.env, homeDir: io.homeDir, readFile: fileReader(io) };
  const edits = client.edits({ baseUrl: `${url}/v1`, mcp: { transport: 'http', url: `${url}/rpc` }, model: '' }, place);
  return edits.map((edit) => ownPart(place.readFile(edit.file), edit)).join('\n');
}

function clientProblem(
  own: string,
  addresses: readonly string[],
  url: string,
  io: Io,
  proxyRuns: boolean,
): string | null {
  const other = addresses.find((address) => address !== url);
  if (other !== undefined) return `for ${other}, not ${url}`;
  const moved = (own.match(/(?<=")[^"]{1,4096}\/dist\/(?:cli|index)\.js(?=")/g) ?? []).find(
    (path) => !io.fileExists(path),
  );
  if (moved !== undefined) return `to start ${moved}, which is not there`;
  return proxyRuns || addresses.length === 0 ? null : 'for the proxy, which does not run';
}
