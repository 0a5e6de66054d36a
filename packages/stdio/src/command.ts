import type { Edition } from 'mcp-pruner/app/guest.ts';
import {
  type Call,
  type Command,
  configOption,
  type Io,
  textOption,
  UsageError,
  valued,
} from 'mcp-pruner/cli/command.ts';
import { toggleOptions } from 'mcp-pruner/cli/setting-options.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { RpcError } from 'mcp-pruner/mcp/json-rpc.ts';
import type { StdioParts, StdioServer, ToolSet } from './serve.ts';

const toolSets: readonly ToolSet[] = ['files', 'pruner', 'all'];
/** Tools of the set `files`; all others need the store. */
const FILE_TOOLS = ['read', 'bash', 'grep'];

export const stdio = ({ settings: table }: Edition): Command => ({
  usage: 'stdio [--tools files|pruner|all|<names>] [--task T] [--enable-… ]',
  about: [
    'Serves MCP over stdin and stdout; diagnostics go to stderr. This is the default command.',
    'PRUNER_URL names the pruner (http://localhost:8000/prune; empty for none), PRUNER_TIMEOUT_MS how long it may take,',
    'PRUNER_TOKEN or PRUNER_TOKEN_FILE the bearer token that it asks for, MCP_PRUNER_CWD where commands run.',
    'With --enable-children it also runs a proxy for the children, on a free port of this machine.',
  ].join('\n'),
  options: {
    ...configOption,
    ...toggleOptions(table),
    tools: valued(
      '<set>',
      'files: read, bash, grep (default, but all with an --enable option); pruner: those of POST /rpc; all; or names, such as recover_text,health',
    ),
    task: valued('<task>', 'the task (x-mcp-pruner-task) whose conversation recall may search'),
  },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    const task = textOption(call, 'task');
    const streams = io.streams?.();
    if (streams === undefined) throw new UserError('stdin and stdout are not there to be served');
    const say = (line: string): void => io.err(`mcp-pruner: ${line}\n`);
    const [{ startStdio }, { swePrunerConfig }] = await Promise.all([
      import('./serve.ts'),
      import('./swe-pruner-client.ts'),
    ]);
    const pruner = swePrunerConfig({ ...io.env, ...(await tokenFor(io.env.PRUNER_URL, call, io)) });
    for (const warning of pruner.warnings) say(`warning: ${warning}`);
    const { tools, only } = toolsOf(call);
    const store = tools === 'files' ? {} : { store: { tools, ...(await storeParts(call, io)) } };
    if (io.errIsTerminal)
      say('serving MCP over stdin and stdout (to run the proxy: mcp-pruner serve; for help: --help)');
    const parts = {
      env: io.env,
      cwd: io.cwd,
      pruner,
      ...streams,
      say,
      ...store,
      only,
      task,
    };
    const app = await startStdio(parts).catch((cause: unknown) => {
      if (!(cause instanceof RpcError)) throw cause;
      throw new UsageError(`--tools: ${cause.message.replace(/^Invalid params: name: /, '')}`);
    });
    return await untilDone(app, io, say);
  },
});

/** Whether an option enables a tool that needs the store. */
function isSwitched({ values }: Call): boolean {
  return Object.entries(values).some(([name, value]) => name.startsWith('enable-') && value === true);
}

/** The requested set of tools, or the smallest set that contains the named tools. */
function toolsOf(call: Call): { readonly tools: ToolSet; readonly only?: readonly string[] } {
  const toolNames = textOption(call, 'tools') ?? (isSwitched(call) ? 'all' : 'files');
  const set = toolSets.find((known) => known === toolNames);
  if (set !== undefined) return { tools: set };
  const only = toolNames.split(',').map((name) => name.trim());
  return { tools: only.every((name) => FILE_TOOLS.includes(name)) ? 'files' : 'all', only };
}

/**
 * The token for our own proxy as pruner, if the environment has none: from the settings, or from the file in
 * `PRUNER_TOKEN_FILE`. A token from the settings is only sent to the configured host.
 */
async function tokenFor(url: string | undefined, call: Call, io: Io): Promise<{ readonly PRUNER_TOKEN?: string }> {
  if (url === undefined || !url.endsWith('/prune') || io.env.PRUNER_TOKEN) return {};
  const [{ readSettings }, { readLocalToken }, { isLoopbackHost }, { accessToken }] = await Promise.all([
    import('mcp-pruner/cli/read-settings.ts'),
    import('mcp-pruner/config/local-token.ts'),
    import('mcp-pruner/config/warnings.ts'),
    import('mcp-pruner/cli/local-access.ts'),
  ]);
  try {
    const { PRUNER_TOKEN_FILE: file } = io.env;
    if (file) return given(readLocalToken(file));
    const { settings } = readSettings(call, io);
    const { hostname } = new URL(url);
    const own = isLoopbackHost(hostname) || hostname === settings.host;
    return own ? given(accessToken(settings, io, false)) : {};
  } catch {
    return {}; // faults in the settings are reported where settings are needed
  }
}

const given = (token: string | null) => (token === null ? {} : { PRUNER_TOKEN: token });

type StoreParts = Omit<NonNullable<StdioParts['store']>, 'tools'>;

/** The proxy's configuration, so that both use the same store. */
async function storeParts(call: Call, io: Io): Promise<StoreParts> {
  const [{ readSettings }, { createLog }] = await Promise.all([
    import('mcp-pruner/cli/read-settings.ts'),
    import('mcp-pruner/observe/log.ts'),
  ]);
  const { settings, warnings } = readSettings(call, io);
  const log = createLog({ level: settings.logLevel, fd: 2 });
  for (const warning of warnings) log.warn({ warning }, 'configuration');
  return { edition: io.edition, settings, log, version: io.version, clock: io.clock, env: io.env, cwd: io.cwd };
}

/** Runs until the client disconnects or a signal arrives. Commands always end with the process. */
async function untilDone(app: StdioServer, io: Io, say: (line: string) => void): Promise<number> {
  const logAndContinue = (cause: unknown): void =>
    say(`unexpected error; the server goes on: ${cause instanceof Error ? (cause.stack ?? cause.message) : cause}`);
  const handlers: readonly [string, (detail: unknown) => void][] = [
    ['uncaughtException', logAndContinue],
    ['unhandledRejection', logAndContinue],
    ['SIGTERM', app.stop],
    ['SIGINT', app.stop],
    ['SIGHUP', app.stop],
    ['exit', app.killAll],
  ];
  for (const [event, handler] of handlers) io.events.on(event, handler);
  await app.done;
  // open streams and logs must not keep the process alive
  setTimeout(() => io.exit(0), 200).unref();
  return 0;
}
