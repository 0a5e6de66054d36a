import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { announcePresence, PRESENCE_VARIABLE } from '@mcp-pruner/agents/presence.ts';
import type { Services } from 'mcp-pruner/app/compose.ts';
import type { Base } from 'mcp-pruner/app/context.ts';
import type { RunningServer } from 'mcp-pruner/app/serve.ts';
import { messageOf } from 'mcp-pruner/base/causes.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { INSTRUCTIONS } from 'mcp-pruner/mcp/initialize.ts';
import { type CallRecord, McpServer, type McpServerOptions } from 'mcp-pruner/mcp/server.ts';
import { type Face, type Tool, ToolRegistry } from 'mcp-pruner/mcp/tool.ts';
import { CommandRunner } from './command-runner.ts';
import { createFocus } from './focus.ts';
import { bashTool, grepTool, readTool } from './local-tools.ts';
import { MAX_LINE_BYTES, serveStdio } from './stdio-lines.ts';
import { SwePrunerClient, type SwePrunerConfig } from './swe-pruner-client.ts';

/** Offered tools. `files`: `read`, `bash` and `grep`. `pruner`: the tools of `POST /rpc`. */
export type ToolSet = 'files' | 'pruner' | 'all';

export interface StdioParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Working directory of the process; `MCP_PRUNER_CWD` takes precedence. */
  readonly cwd: string;
  readonly pruner: SwePrunerConfig;
  readonly input: Readable;
  readonly output: Writable;
  /** Prints a line of diagnostics. */
  readonly say: (line: string) => void;
  /** Names of the tools to offer; default: all. */
  readonly only?: readonly string[];
  /** Task whose conversations `recall` searches with `scope: conversation`; `''` for none. */
  readonly task?: string;
  /** Options of the `POST /rpc` tools. If absent, only `read`, `bash` and `grep` are offered. */
  readonly store?: { readonly tools: Exclude<ToolSet, 'files'> } & Base;
}

export interface StdioServer {
  /** Settles when the client has disconnected or `stop` was called, and all commands have ended. */
  readonly done: Promise<void>;
  stop(): void;
  /** Kills running commands immediately, before the process exits. */
  killAll(): void;
}

/** Version of the stdio server's contract (docs/contract.md §8). */
const CONTRACT_VERSION = '1.0.0';
/**
 * Time for calls to complete after the client closed its side, in milliseconds; shorter than clients wait before
 * SIGTERM.
 */
const GRACE_MS = 1_500;
/** Time for commands to end on shutdown, in milliseconds; the least patient clients wait half a second. */
const COMMANDS_END_MS = 250;

/**
 * Serves MCP over a pair of streams. Loads neither express nor, without `store`, a database driver.
 *
 * @throws RpcError for an unknown name in `only`
 */
export async function startStdio(parts: StdioParts): Promise<StdioServer> {
  const { env, input, output, say, store, only, task = '' } = parts;
  const cwd = env.MCP_PRUNER_CWD ? resolve(parts.cwd, env.MCP_PRUNER_CWD) : parts.cwd;
  const runner = new CommandRunner({ cwd, env });
  const { url } = parts.pruner;
  const pruner = url === null ? null : new SwePrunerClient({ ...parts.pruner, url });
  const local = localTools(parts, cwd, runner, pruner);
  const open = store === undefined ? null : await openProduct(store, local);
  const face = open?.face ?? plainFace(local);
  try {
    face.registry.list(face.faces, only);
  } catch (cause) {
    await open?.services.close();
    throw cause;
  }
  const server = new McpServer({ ...face, onCall: (record) => describeCall(record, say) });

  const runSocket = env[PRESENCE_VARIABLE];
  const farewell = runSocket ? announcePresence(runSocket) : () => {};
  const stopping = new AbortController();
  const onFailure: FailureReporter = (_reason, cause) => say(`unexpected error: ${messageOf(cause)}`);
  const streams = { input, output, stop: stopping.signal, graceMs: GRACE_MS };
  const served = serveStdio({
    server,
    ...streams,
    onFailure,
    scope: { project: 'default', task },
    tools: only,
  });
  return {
    done: served.then(async () => {
      await runner.endAll(COMMANDS_END_MS);
      await pruner?.close();
      await open?.services.close();
      farewell();
    }),
    stop: () => stopping.abort(),
    killAll: () => runner.killAll(),
  };
}

function localTools({ say }: StdioParts, cwd: string, runner: CommandRunner, pruner: SwePrunerClient | null): Tool[] {
  const focus = createFocus({
    pruner,
    onFailure: (_reason, cause) => say(`pruning failed, returning the whole output: ${messageOf(cause)}`),
  });
  return [readTool, bashTool, grepTool].map((make) => make({ cwd, runner, focus }));
}

/**
 * Starts a proxy on a free local port over the same store; children reach their model and tools through it. Its other
 * routes require the configured token, or a random unknown one. `null` if children are disabled, or the store is in
 * memory.
 */
async function openDoor(base: Base): Promise<RunningServer | null> {
  const { settings } = base;
  if (!settings.enable.includes('children') || settings.dbPath === ':memory:') return null;
  const [{ startHttp }, { ids }] = await Promise.all([
    import('mcp-pruner/app/serve.ts'),
    import('mcp-pruner/app/context.ts'),
  ]);
  return startHttp({ ...settings, host: '127.0.0.1', port: 0, authToken: settings.authToken ?? ids.secret() }, base);
}

const NO_HTTP = { enabled: false, host: null, port: null, path: null, enableJson: false, stateless: false };

/** The product's own MCP server, as on `POST /rpc`. */
async function openProduct(
  { tools, ...base }: NonNullable<StdioParts['store']>,
  local: readonly Tool[],
): Promise<{ readonly services: Services; readonly face: McpServerOptions }> {
  const [{ openServices }, { openContext }, { partsOn }, { openTools }] = await Promise.all([
    import('mcp-pruner/app/compose.ts'),
    import('mcp-pruner/app/context.ts'),
    import('mcp-pruner/app/guest.ts'),
    import('mcp-pruner/app/tools.ts'),
  ]);
  const services = await openServices(await openContext(base));
  const faces = facesOf(tools);
  const door = await openDoor(base);
  const place = { url: door && (() => door.url), faces, mayStart: true };
  const parts = partsOn(base.edition, services.settings, 'stdio');
  const opened = await Promise.all(parts.map((part) => part.open(services, place)));
  const toolset = openTools(
    services,
    {
      faces,
      transports: () => ({ stdio: { enabled: true }, http: NO_HTTP }),
      stays: true,
      maxInputBytes: MAX_LINE_BYTES,
    },
    local,
    opened,
  );
  const ended: Services = {
    ...services,
    async close() {
      await Promise.all(opened.map((one) => one.stop?.()));
      await door?.close();
      await Promise.all(opened.map((one) => one.close?.()));
      await services.close();
    },
  };
  return { services: ended, face: { ...toolset, faces, version: base.version, instructions: INSTRUCTIONS } };
}

function facesOf(tools: 'pruner' | 'all'): readonly Face[] {
  return tools === 'all' ? ['stdio', 'rpc'] : ['rpc'];
}

/** The server exactly as the stdio contract specifies it. */
function plainFace(tools: readonly Tool[]): McpServerOptions {
  return { registry: new ToolRegistry(tools), faces: ['stdio'], version: CONTRACT_VERSION, strict: true };
}

function describeCall(
  { method, tool, errorCode, cancelled, elapsedMs, fault }: CallRecord,
  say: (line: string) => void,
) {
  if (tool === null && errorCode === null) return;
  const outcome = cancelled ? 'cancelled' : errorCode === null ? 'done' : `error ${errorCode}`;
  const why = fault === undefined ? '' : `: ${messageOf(fault)}`;
  say(`${tool ?? method} ${outcome} after ${Math.round(elapsedMs)} ms${why}`);
}
