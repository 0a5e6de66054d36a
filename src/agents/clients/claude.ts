import { join } from 'node:path';
import { SERVER_NAME } from '../mcp-servers.ts';
import { type Client, type ClientPlace, type JsonValue, type McpAccess, stdioJson } from './client.ts';

function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http' ? { type: 'http', url: mcp.url } : stdioJson(mcp.server, { type: 'stdio' });
}

/** The file that `claude mcp add --scope user` writes to. */
function stateFile({ env, homeDir }: ClientPlace): string {
  return env.CLAUDE_CONFIG_DIR ? join(env.CLAUDE_CONFIG_DIR, '.claude.json') : join(homeDir, '.claude.json');
}

export const claude: Client = {
  name: 'claude',
  title: 'Claude Code',
  command: 'claude',
  proxied: false,
  needsModel: false,
  usesMcp: true,
  launch: ({ mcp }) => ({
    // in one word: as an option with a list it would swallow the prompt that follows
    args: mcp === null ? [] : [`--mcp-config=${JSON.stringify({ mcpServers: { [SERVER_NAME]: serverJson(mcp) } })}`],
    env: {},
    files: [],
  }),
  edits: ({ mcp }, place) =>
    mcp === null
      ? []
      : [
          {
            format: 'json',
            file: stateFile(place),
            entries: [{ path: ['mcpServers', SERVER_NAME], value: serverJson(mcp) }],
          },
        ],
  notes: [
    'Claude Code speaks the messages dialect, which is not pruned; its MCP tools read, bash and grep are.',
    'Close Claude Code before a change to its file: it writes there itself.',
  ],
};
