import type { Client, McpAccess } from '../agents/clients/client.ts';
import { findEntry, isHttpUrl, isTrue } from '../agents/mcp-servers.ts';
import { PRESENCE_VARIABLE } from '../agents/presence.ts';
import type { RunLifecycle } from '../agents/run-states.ts';
import { CommandFailed, type Io } from './command.ts';
import type { RunProxy } from './run-proxy.ts';

export interface RunMcp {
  readonly io: Io;
  readonly client: Client;
  readonly proxy: RunProxy;
  /** What the server must find in its environment to work on the store of this machine. */
  readonly storeEnv: Readonly<Record<string, string>>;
  /** Where the run listens for the server. */
  readonly socket: string;
  readonly lifecycle: RunLifecycle;
}

/**
 * The MCP server of a run. `JEEVES_*` replace its parts, as for any runner (docs/contract.md §8).
 *
 * @returns `null` when the run goes without; the lifecycle then says why
 * @throws CommandFailed when what is cut could not be had back
 */
export function mcpAccess({ io, client, proxy, storeEnv, socket, lifecycle }: RunMcp): McpAccess | null {
  const { JEEVES_PRUNER_ENABLED: enabled, JEEVES_PRUNER_URL, JEEVES_MCP_PRUNER_PATH: path, PRUNER_URL } = io.env;
  const without = (event: 'disabled_by_config' | 'config_invalid', why: string): null => {
    lifecycle.on(event, why);
    return null;
  };
  if (!client.usesMcp) return without('disabled_by_config', `${client.name} is given no MCP server`);
  if (enabled !== undefined && !isTrue(enabled)) return without('disabled_by_config', 'JEEVES_PRUNER_ENABLED');
  if (!proxy.sameStore) return atProxy(client, proxy, lifecycle);

  const prunerUrl = JEEVES_PRUNER_URL ?? PRUNER_URL ?? `${proxy.url}/prune`;
  if (prunerUrl !== '' && !isHttpUrl(prunerUrl)) {
    return without('config_invalid', 'JEEVES_PRUNER_URL is not an http(s) address');
  }
  const entry = findEntry(io.env, io.cwd);
  if (entry === undefined) return without('config_invalid', 'the entry point of the server was not found');
  lifecycle.on('config_resolved');
  // what an agent reads through the proxy is pruned there: it only needs a way to take cuts back
  const tools = client.proxied ? 'pruner' : 'all';
  return {
    transport: 'stdio',
    server: {
      command: process.execPath,
      args: path ? [entry] : [entry, 'stdio', '--tools', tools],
      env: { PRUNER_URL: prunerUrl, MCP_PRUNER_CWD: io.cwd, ...storeEnv, [PRESENCE_VARIABLE]: socket },
    },
  };
}

/** Originals that only the proxy has can only be had from it. */
function atProxy({ name, proxied }: Client, { url }: RunProxy, lifecycle: RunLifecycle): McpAccess {
  if (!proxied) {
    throw new CommandFailed(
      `the proxy at ${url} keeps originals where no other process can read them: run ${name} without --proxy, on a store that is a file`,
    );
  }
  lifecycle.on('config_resolved', `at ${url}/rpc`);
  lifecycle.on('connected', 'it is part of the proxy'); // which has just answered
  return { transport: 'http', url: `${url}/rpc` };
}
