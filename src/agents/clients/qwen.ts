import { join } from 'node:path';
import { SERVER_NAME } from '../mcp-servers.ts';
import {
  type Client,
  type ClientPlace,
  headersJson,
  holdsToken,
  type JsonEntry,
  type JsonValue,
  type McpAccess,
  stdioJson,
} from './client.ts';

function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http' ? { httpUrl: mcp.url, ...headersJson(mcp) } : stdioJson(mcp.server);
}

/** It sends even what goes to loopback through a proxy of these variables, whatever NO_PROXY says. */
function withoutProxies({ env }: ClientPlace): Record<string, string> {
  const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].filter((name) => env[name]);
  return Object.fromEntries(names.map((name) => [name, '']));
}

export const qwen: Client = {
  name: 'qwen',
  title: 'Qwen Code',
  command: 'qwen',
  wire: 'chat',
  needsModel: false,
  usesMcp: true,
  launch: ({ baseUrl, mcp }, place) => ({
    args: [
      ...['--auth-type', 'openai', '--openai-base-url', baseUrl],
      ...(mcp === null ? [] : ['--mcp-config', JSON.stringify({ mcpServers: { [SERVER_NAME]: serverJson(mcp) } })]),
    ],
    env: { OPENAI_BASE_URL: baseUrl, ...withoutProxies(place) },
    files: [],
  }),
  edits({ baseUrl, mcp }, { homeDir }) {
    const provider: JsonEntry[] = [
      { path: ['security', 'auth', 'selectedType'], value: 'openai' },
      { path: ['security', 'auth', 'baseUrl'], value: baseUrl },
    ];
    const server: JsonEntry[] = mcp === null ? [] : [{ path: ['mcpServers', SERVER_NAME], value: serverJson(mcp) }];
    return [
      {
        format: 'json',
        file: join(homeDir, '.qwen/settings.json'),
        comments: true,
        secret: holdsToken(mcp),
        entries: [...provider, ...server],
      },
    ];
  },
  notes: [
    'OPENAI_BASE_URL wins over this file: unset it. The key is read from OPENAI_API_KEY, the model from OPENAI_MODEL.',
    'Where HTTPS_PROXY is set, unset it for qwen: it would send what goes to this machine there too.',
  ],
};
