import { join } from 'node:path';
import { SERVER_NAME } from '../mcp-servers.ts';
import { type Client, type JsonValue, type McpAccess, stdioJson } from './client.ts';

function serverJson(mcp: McpAccess): JsonValue {
  const tools = ['*'];
  return mcp.transport === 'http'
    ? { type: 'http', url: mcp.url, tools }
    : stdioJson(mcp.server, { type: 'local', tools });
}

/** Copilot's way of using a provider of one's own ("BYOK") has environment variables only. */
export const copilot: Client = {
  name: 'copilot',
  title: 'GitHub Copilot CLI, with a key of your own',
  command: 'copilot',
  proxied: true,
  needsModel: true,
  usesMcp: true,
  launch: ({ baseUrl, mcp, model }, { env }) => ({
    args:
      mcp === null
        ? []
        : ['--additional-mcp-config', JSON.stringify({ mcpServers: { [SERVER_NAME]: serverJson(mcp) } })],
    env: {
      COPILOT_PROVIDER_BASE_URL: baseUrl,
      COPILOT_MODEL: env.COPILOT_MODEL ?? model ?? '',
      ...(env.OPENAI_API_KEY ? { COPILOT_PROVIDER_API_KEY: env.COPILOT_PROVIDER_API_KEY ?? env.OPENAI_API_KEY } : {}),
    },
    files: [],
  }),
  edits: ({ mcp }, { env, homeDir }) =>
    mcp === null
      ? []
      : [
          {
            format: 'json',
            file: join(env.COPILOT_HOME || join(homeDir, '.copilot'), 'mcp-config.json'),
            entries: [{ path: ['mcpServers', SERVER_NAME], value: serverJson(mcp) }],
          },
        ],
  notes: ['The provider is set by COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL only.'],
};
