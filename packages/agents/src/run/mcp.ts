import { isHttpUrl } from 'mcp-pruner/base/http-url.ts';
import type { Io } from 'mcp-pruner/cli/command.ts';
import { rpcAddress } from 'mcp-pruner/cli/local-access.ts';
import type { RunProxy } from 'mcp-pruner/cli/run-proxy.ts';
import type { Client, McpAccess } from '../clients/client.ts';
import { findEntry, isTrue } from '../mcp-servers.ts';
import { PRESENCE_VARIABLE } from '../presence.ts';
import type { RunLifecycle } from '../run-states.ts';
import { withKey } from '../team-key.ts';

interface RunMcp {
  readonly io: Io;
  readonly client: Client;
  readonly proxy: RunProxy;
  /** Environment variables that make the server use this machine's store. */
  readonly storeEnv: Readonly<Record<string, string>>;
  /** Socket on which the run listens for the server. */
  readonly socket: string;
  /** File with this machine's token, if the proxy requires that token; otherwise `null`. */
  readonly tokenFile: string | null;
  readonly lifecycle: RunLifecycle;
}

/**
 * The MCP server of a run. `JEEVES_*` variables override its parts, as for any runner (docs/contract.md §8).
 *
 * @returns `null` if the run has none; the lifecycle then reports why
 */
export function mcpAccess(run: RunMcp): McpAccess | null {
  const { io, client, proxy, storeEnv, socket, tokenFile, lifecycle } = run;
  const { JEEVES_PRUNER_ENABLED: enabled, JEEVES_PRUNER_URL, JEEVES_MCP_PRUNER_PATH: path, PRUNER_URL } = io.env;
  const without = (event: 'disabled_by_config' | 'config_invalid', why: string): null => {
    lifecycle.on(event, why);
    return null;
  };
  if (!client.usesMcp) return without('disabled_by_config', `${client.name} is given no MCP server`);
  if (enabled !== undefined && !isTrue(enabled)) return without('disabled_by_config', 'JEEVES_PRUNER_ENABLED');
  if (proxy.key !== null && !client.keepsToken) {
    return without('disabled_by_config', `the command line of ${client.name} would show the key; setup gives it one`);
  }
  if (!proxy.sameStore) return atProxy(proxy, lifecycle);
  // a runner's own variables request a server that it knows, which the agent starts
  const isConfigured = enabled !== undefined || JEEVES_PRUNER_URL !== undefined || Boolean(path);
  if (!isConfigured && (proxy.token === null || client.keepsToken)) return atProxy(proxy, lifecycle);

  const prunerUrl = JEEVES_PRUNER_URL ?? PRUNER_URL ?? `${proxy.url}/prune`;
  if (prunerUrl !== '' && !isHttpUrl(prunerUrl)) {
    return without('config_invalid', 'JEEVES_PRUNER_URL is not an http(s) address');
  }
  const entry = findEntry(io.env, io.cwd);
  if (entry === undefined) return without('config_invalid', 'the entry point of the server was not found');
  lifecycle.on('config_resolved');
  const own: Record<string, string> =
    prunerUrl === `${proxy.url}/prune` && tokenFile !== null ? { PRUNER_TOKEN_FILE: tokenFile } : {};
  return {
    transport: 'stdio',
    server: {
      command: process.execPath,
      args: path ? [entry] : [entry, 'stdio', '--tools', stdioToolScope(client)],
      env: { PRUNER_URL: prunerUrl, ...own, MCP_PRUNER_CWD: io.cwd, ...storeEnv, [PRESENCE_VARIABLE]: socket },
    },
  };
}

/**
 * Tools offered by a server that the agent starts. Agents on chat completions have their own tools and only need
 * recovery.
 */
export function stdioToolScope({ wire }: Client): 'pruner' | 'all' {
  return wire === 'chat' ? 'pruner' : 'all';
}

/** The proxy's own MCP server, which suffices for agents whose requests pass through the proxy. */
function atProxy({ url, token, key }: RunProxy, lifecycle: RunLifecycle): McpAccess {
  const address = rpcAddress(withKey(url, key));
  lifecycle.on('config_resolved', `at ${rpcAddress(url)}`);
  lifecycle.on('connected', 'it is part of the proxy'); // the proxy has just answered
  return { transport: 'http', url: address, token: token ?? undefined };
}
