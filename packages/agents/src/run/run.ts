import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { errorCode } from 'mcp-pruner/base/causes.ts';
import {
  type Call,
  type Command,
  configOption,
  fileReader,
  type Io,
  printableLine,
  textOption,
  UsageError,
  valued,
} from 'mcp-pruner/cli/command.ts';
import { accessToken } from 'mcp-pruner/cli/local-access.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import {
  keepsOriginalsHere,
  namedProxy,
  openProxy,
  proxyHealth,
  proxyUrl,
  type RunProxy,
} from 'mcp-pruner/cli/run-proxy.ts';
import type { Loaded } from 'mcp-pruner/config/load.ts';
import { localTokenFile } from 'mcp-pruner/config/local-token.ts';
import { isOnPath } from 'mcp-pruner/config/recover-command.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { isLocalUrl } from 'mcp-pruner/config/warnings.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { providerOfWire } from 'mcp-pruner/wires/providers/facts.ts';
import { AgentProcess } from '../agent-process.ts';
import { anyProgram, clients, findClient } from '../clients/all.ts';
import type { Client, ClientCloud, ClientPlace, Launch } from '../clients/client.ts';
import { HeldLines } from '../held-lines.ts';
import { listenForPresence } from '../presence.ts';
import { RunLifecycle } from '../run-states.ts';
import { serverEnv } from '../server-env.ts';
import { KEY_VARIABLE, teamKey, withKey } from '../team-key.ts';
import { type ChildLog, openChildLog } from './child-log.ts';
import { markedRun, unmarked } from './mark.ts';
import { mcpAccess } from './mcp.ts';

/** Why requests signed with AWS keys may have to bypass the proxy. */
const SIGNED = 'they are signed, and the proxy has no AWS_ACCESS_KEY_ID to sign them anew';

const NOT_INSTALLED = 'it is not installed, or not in PATH';

/** Grace time: a server may close its connection shortly before its agent ends. */
const LOST_MS = 500;

/** Agents that can be configured for one run. */
const names = clients.filter(({ launch }) => launch !== null).map(({ name }) => name);

export const run: Command = {
  words: names,
  usage: 'run <agent|program> [options] -- [arguments of the agent]',
  about: [
    'Starts an agent through the proxy, and with the MCP server configured, by flags, environment and temporary files:',
    'none of your own files is changed. Uses the proxy that runs, or starts one for the run. Exits with the code of the',
    `agent. Agents: ${names.join(', ')}; any other program gets OPENAI_BASE_URL.`,
    'MCP_PRUNER_KEY is your key for the proxy at --proxy, if that requires one; no command line shows the key.',
  ].join('\n'),
  options: {
    ...configOption,
    model: valued('<name>', 'the model, for agents that need one (default: OPENAI_MODEL)'),
    proxy: valued('<url>', 'use the proxy at this address, such as http://127.0.0.1:8006'),
  },
  arguments: { min: 1, max: Number.POSITIVE_INFINITY },

  async run(call, io) {
    const [name = '', ...args] = call.positionals;
    const client = findClient(name) ?? anyProgram(name);
    const { launch } = client;
    if (launch === null)
      throw new UsageError(`${name} cannot be configured for a single run: see mcp-pruner setup ${name}`);
    const model = textOption(call, 'model') ?? (io.env.OPENAI_MODEL || null);
    if (client.needsModel && model === null) {
      throw new UsageError(`${name} needs a model: mcp-pruner run ${name} --model <name>, or set OPENAI_MODEL`);
    }

    if (!isInstalled(client.command, io)) throw cannotStart(client.command, NOT_INSTALLED);
    const lines = new HeldLines(io);
    const place = { env: io.env, homeDir: io.homeDir, readFile: fileReader(io), listFolder };
    const cloud = client.cloud?.(place) ?? null;
    const { loaded, shared, upstream } = settingsOf(call, io, client, place, cloud);
    const bypasses = cloud !== null && bypassesProxy(cloud, namedProxy(call) !== null);
    const other = await otherProxy(call, loaded.settings, io);
    const proxy = other ?? (await openProxy(loaded.settings, io, shared));
    const childLog = await openChildLog(loaded.settings, client.name, io);
    const isRunner = Object.keys(io.env).some((variable) => variable.startsWith('JEEVES_'));
    const lifecycle = new RunLifecycle(({ line, text, isFault }) => {
      if (isRunner) lines.say(line);
      else if (isFault) lines.say(text);
      childLog.meta(line);
    });
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-'));
    const socket = join(folder, 'run.sock');
    try {
      const storeEnv = serverEnv(loaded, io);
      const tokenFile = proxy.token === null ? null : localTokenFile(io, loaded.settings);
      const mcp = mcpAccess({ io, client, proxy, storeEnv, socket, tokenFile, lifecycle });
      const { id, url: marked } = markedRun(proxy.url);
      const origin = withKey(marked, proxy.key);
      const keyed = proxy.key === null ? {} : { keyed: { origin: marked, variable: KEY_VARIABLE } };
      const hasLocalModel = isLocalUrl(loaded.settings.anthropicUrl);
      const wired = launch(
        { baseUrl: `${origin}/v1`, origin, mcp, model, ...keyed, cloudBypassesProxy: bypasses, hasLocalModel },
        place,
        folder,
      );
      writeLaunchFiles(folder, wired);
      // the upstream of a named proxy is unknown here
      const before = shared || other ? '' : `; the proxy forwards to ${upstream}, which ${client.name} is set up for`;
      lines.say(cloud && bypasses ? describeBypass(client, cloud) : `${describeStart(client, proxy, cloud)}${before}`);
      if (proxy.problem !== undefined) lines.say(`nothing is pruned or recorded: ${printableLine(proxy.problem)}`);
      const summary = bypasses ? async () => null : () => import('./summary.ts').then((it) => it.summaryOf(proxy, id));
      return await runAgent(client, wired, args, { socket, lifecycle, io, lines, childLog, summary });
    } finally {
      await childLog.close();
      await proxy.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Whether a program is on the PATH. Paths, and Windows extensions, are checked only on start. */
function isInstalled(command: string, { env, platform }: Io): boolean {
  return platform === 'win32' || env.PATH === undefined || command.includes('/') || isOnPath(command, env.PATH);
}

function cannotStart(command: string, why: string, cause?: unknown): UserError {
  return new UserError(`cannot start ${command}: ${why}`, { cause });
}

interface RunSettings {
  readonly loaded: Loaded;
  /** Whether a running proxy may be used. */
  readonly shared: boolean;
  /** The agent's current upstream, if configured. */
  readonly upstream: string | null;
}

/**
 * The settings of a proxy for this run. Uses the upstream in the agent's configuration, for which the user's key is
 * valid, unless another one is configured or it is the proxy itself.
 */
function settingsOf(call: Call, io: Io, client: Client, place: ClientPlace, cloud: ClientCloud | null): RunSettings {
  const loaded = readSettings(call, io);
  if (cloud !== null) return cloudSettings(call, io, loaded, cloud);
  const { settings, origins } = loaded;
  const { key, path } = providerOfWire(client.wire);
  const variable = key === 'upstreamUrl' ? io.env.OPENAI_BASE_URL?.trim() : undefined;
  // a run inside a run
  const upstream = unmarked(client.upstream?.(place) ?? variable ?? '').replace(/(?<!\/)\/+$/, '');
  const known = ['', settings[key], proxyUrl(settings) + path].includes(upstream);
  if (known || origins[key].from !== 'default') return { loaded, shared: true, upstream: null };
  return { loaded: readSettings(call, io, { [key]: upstream }), shared: false, upstream };
}

/** Signed requests need a proxy with this environment's credentials, used by this run only. */
function cloudSettings(call: Call, io: Io, loaded: Loaded, { key, path, upstream, signing }: ClientCloud): RunSettings {
  const { settings, origins } = loaded;
  const ownUrl = proxyUrl(settings);
  const known = upstream === null || [settings[key], ownUrl, ownUrl + path].includes(unmarked(upstream));
  const isSet = known || origins[key].from !== 'default';
  if (isSet) return { loaded, shared: signing === 'none', upstream: settings[key] ?? 'the cloud' };
  return { loaded: readSettings(call, io, { [key]: upstream }), shared: false, upstream };
}

/** Whether requests to a cloud bypass the proxy because it cannot sign them. */
function bypassesProxy({ signing }: ClientCloud, isNamed: boolean): boolean {
  return signing === 'unknown' || (signing === 'own' && isNamed);
}

function describeBypass({ title, command }: Client, cloud: ClientCloud): string {
  return `${title} (${command}): messages go straight to ${cloud.title}, unpruned: ${SIGNED}`;
}

async function otherProxy(call: Call, settings: Settings, io: Io): Promise<RunProxy | null> {
  const url = namedProxy(call);
  if (url === null) return null;
  const health = await proxyHealth(url);
  if (health === null) throw new UserError(`no mcp-pruner answers at ${url}: mcp-pruner serve starts one`);
  const key = teamKey(io);
  const problem = health.storeProblem && `the store of that proxy is not available (${health.storeProblem})`;
  const named = { url, about: 'named by --proxy', key, problem, close: async () => {} };
  if (key !== null) return { ...named, sameStore: false, token: null };
  const token = accessToken(settings, io, false);
  return { ...named, sameStore: await keepsOriginalsHere(url, settings, io, token), token };
}

/**
 * Writes the temporary files and links of a launch. If Windows refuses to create links, the agent starts without them.
 */
function writeLaunchFiles(folder: string, { files, links = [] }: Launch): void {
  for (const { name, text } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  for (const { name, target } of links) {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    try {
      symlinkSync(target, join(folder, name));
    } catch (cause) {
      if (errorCode(cause) !== 'EPERM') throw cause;
    }
  }
}

/** Names in a folder; empty if it is missing or unreadable. */
function listFolder(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function describeStart({ title, command, wire }: Client, { url, about }: RunProxy, cloud: ClientCloud | null): string {
  const name = title === command ? title : `${title} (${command})`;
  if (cloud !== null) return `${name}: messages to ${cloud.title} through ${url}${cloud.path}, ${about}`;
  const format = { chat: 'chat completions', messages: 'messages', responses: 'responses', gemini: 'generateContent' };
  return `${name}: ${format[wire]} through ${url}${providerOfWire(wire).path}, ${about}`;
}

interface RunSurroundings {
  readonly socket: string;
  readonly lifecycle: RunLifecycle;
  readonly io: Io;
  readonly lines: HeldLines;
  readonly childLog: ChildLog;
  /** Summary of the run in one sentence; `null` if unknown. Never rejects. */
  readonly summary: () => Promise<string | null>;
}

async function runAgent(
  { command }: Client,
  { args, env }: Launch,
  userArgs: readonly string[],
  { socket, lifecycle, io, lines, childLog, summary }: RunSurroundings,
): Promise<number> {
  let ended = false;
  const onLost = (): void => {
    setTimeout(() => ended || lifecycle.on('server_failed'), LOST_MS).unref();
  };
  const stopListening =
    lifecycle.state === 'starting'
      ? await listenForPresence(socket, { onUp: () => lifecycle.on('connected'), onLost }).catch(() => () => {}) // the agent starts anyway
      : () => {};
  lines.hold();
  const onTerminal = io.inIsTerminal === true;
  let agent: AgentProcess | null = null;
  // registered before the start, or a signal in between would end this process but not the agent
  const forget = handleEvents(() => agent, io, onTerminal, lines);
  try {
    agent = new AgentProcess({
      command,
      args: [...args, ...userArgs],
      cwd: io.cwd,
      env: { ...io.env, ...withoutDetour(io.env), ...env },
      onTerminal,
      // an agent that draws on a terminal needs its stderr there
      onStderr:
        childLog.on && !io.errIsTerminal
          ? (text) => {
              io.err(text);
              childLog.stderr(text);
            }
          : undefined,
    });
    childLog.meta(`started ${command}`);
    const code = await agent.ended;
    ended = true;
    lifecycle.on('phase_ended');
    lines.release();
    lines.say(`${command} ended with code ${code}`);
    childLog.meta(`${command} ended with code ${code}`);
    const did = await summary();
    if (did !== null) lines.say(did);
    return code;
  } catch (cause) {
    lines.release();
    const why = errorCode(cause) === 'ENOENT' ? NOT_INSTALLED : String(cause);
    childLog.meta(`cannot start ${command}: ${why}`);
    throw cannotStart(command, why, cause);
  } finally {
    forget();
    stopListening();
  }
}

/** Excludes this machine from the outbound proxy. */
function withoutDetour(env: Io['env']): Record<string, string> {
  const detours = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
  if (!detours.some((name) => env[name])) return {};
  const direct = [env.NO_PROXY || env.no_proxy, '127.0.0.1', 'localhost', '::1'].filter(Boolean).join(',');
  return { NO_PROXY: direct, no_proxy: direct };
}

/** Ctrl-C is left to the agent; termination signals are forwarded and enforced. */
function handleEvents(
  agent: () => AgentProcess | null,
  { events }: Io,
  onTerminal: boolean,
  lines: HeldLines,
): () => void {
  const logAndContinue = (cause: unknown): void => lines.say(`unexpected error; the run goes on: ${String(cause)}`);
  const terminate = (): void => void agent()?.terminate();
  const interrupt = (): void => {
    if (!onTerminal) agent()?.signal('SIGINT'); // on a terminal, the agent has already received it
  };
  const handlers: readonly [string, (detail: unknown) => void][] = [
    ['uncaughtException', logAndContinue],
    ['unhandledRejection', logAndContinue],
    ['SIGTERM', terminate],
    ['SIGHUP', terminate],
    ['SIGINT', interrupt],
    ['exit', () => agent()?.signal('SIGKILL')],
  ];
  for (const [event, handler] of handlers) events.on(event, handler);
  return () => {
    for (const [event, handler] of handlers) events.off(event, handler);
  };
}
