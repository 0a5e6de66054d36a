import { join } from 'node:path';
import {
  type Client,
  headersJson,
  type JsonValue,
  type McpAccess,
  serverEdits,
  serversText,
  stdioJson,
} from './client.ts';

function serverJson(mcp: McpAccess): JsonValue {
  const tools = ['*'];
  return mcp.transport === 'http'
    ? { type: 'http', url: mcp.url, tools, ...headersJson(mcp) }
    : stdioJson(mcp.server, { type: 'local', tools });
}

/** Copilot with a custom provider ("BYOK"), which is configured by environment variables only. */
export const copilot: Client = {
  name: 'copilot',
  title: 'GitHub Copilot CLI, with a key of your own',
  command: 'copilot',
  wire: 'chat',
  needsModel: true,
  usesMcp: true,
  launch: ({ baseUrl, origin, mcp, model }, { env }) => ({
    args: mcp === null ? [] : ['--additional-mcp-config', serversText(mcp, serverJson)],
    env: {
      // its client of the messages wire appends /v1 itself
      COPILOT_PROVIDER_BASE_URL: env.COPILOT_PROVIDER_TYPE === 'anthropic' ? origin : baseUrl,
      COPILOT_MODEL: env.COPILOT_MODEL ?? model ?? '',
      ...(env.OPENAI_API_KEY ? { COPILOT_PROVIDER_API_KEY: env.COPILOT_PROVIDER_API_KEY ?? env.OPENAI_API_KEY } : {}),
    },
    files: [],
  }),
  edits: ({ mcp }, { env, homeDir }) =>
    serverEdits(join(env.COPILOT_HOME || join(homeDir, '.copilot'), 'mcp-config.json'), mcp, serverJson),
  exports: ({ baseUrl, model }) => ({
    COPILOT_PROVIDER_BASE_URL: baseUrl,
    COPILOT_MODEL: model ?? '',
    COPILOT_PROVIDER_API_KEY: '"$OPENAI_API_KEY"',
  }),
  notes: [
    'The provider is set by these variables only. COPILOT_PROVIDER_WIRE_API=responses chooses the responses wire;',
    'COPILOT_PROVIDER_TYPE=anthropic the messages wire, with COPILOT_PROVIDER_BASE_URL without /v1.',
  ],
};
