import { join } from 'node:path';
import { SERVER_NAME } from '../mcp-servers.ts';
import { toCodexArgs, tomlString } from '../providers.ts';
import { type Client, type ClientPlace, type McpAccess, PROVIDER, type TomlTable, type TomlTables } from './client.ts';

function configFile({ env, homeDir }: ClientPlace): string {
  return join(env.CODEX_HOME || join(homeDir, '.codex'), 'config.toml');
}

function mcpTables(mcp: McpAccess | null): TomlTables {
  if (mcp === null) return {};
  const name = `mcp_servers.${SERVER_NAME}`;
  if (mcp.transport === 'http') return { [name]: { url: mcp.url } };
  const { command, args = [], env = {} } = mcp.server;
  return { [name]: { command, args }, [`${name}.env`]: env };
}

function mcpArgs(mcp: McpAccess | null): string[] {
  if (mcp === null) return [];
  if (mcp.transport === 'stdio') return toCodexArgs({ mcpServers: { [SERVER_NAME]: mcp.server } });
  return ['--config', `mcp_servers.${SERVER_NAME}.url=${tomlString(mcp.url)}`];
}

/** Codex since 0.95 speaks responses only, which pass the proxy unpruned; it profits from the tools. */
export const codex: Client = {
  name: 'codex',
  title: 'Codex',
  command: 'codex',
  proxied: false,
  needsModel: false,
  usesMcp: true,
  launch: ({ mcp }) => ({ args: mcpArgs(mcp), env: {}, files: [] }),
  edits: ({ mcp }, place) => [{ format: 'toml', file: configFile(place), top: {}, tables: mcpTables(mcp) }],
  notes: ['Codex speaks the responses dialect, which is not pruned; its MCP tools read, bash and grep are.'],
};

function chatProvider(baseUrl: string): TomlTable {
  return { name: PROVIDER, base_url: baseUrl, env_key: 'OPENAI_API_KEY', wire_api: 'chat' };
}

/** The last versions of Codex that speak chat completions, up to 0.94. */
export const codexChat: Client = {
  name: 'codex-chat',
  title: 'Codex up to 0.94, on chat completions',
  command: 'codex',
  proxied: true,
  needsModel: false,
  usesMcp: true,
  launch({ baseUrl, mcp }) {
    const settings = Object.entries(chatProvider(baseUrl)).map(
      ([key, value]) => `model_providers.${PROVIDER}.${key}=${tomlString(String(value))}`,
    );
    const provider = [`model_provider=${tomlString(PROVIDER)}`, ...settings];
    return { args: [...provider.flatMap((setting) => ['--config', setting]), ...mcpArgs(mcp)], env: {}, files: [] };
  },
  edits: ({ baseUrl, mcp }, place) => [
    {
      format: 'toml',
      file: configFile(place),
      top: { model_provider: PROVIDER },
      tables: { [`model_providers.${PROVIDER}`]: chatProvider(baseUrl), ...mcpTables(mcp) },
    },
  ],
  notes: ['The key is read from OPENAI_API_KEY. From 0.95 on Codex refuses wire_api = "chat": use codex instead.'],
};
