import { join } from 'node:path';
import { SERVER_NAME } from '../mcp-servers.ts';
import { type Client, holdsToken, type JsonEntry } from './client.ts';
import { serverJson, withoutProxies } from './gemini-family.ts';

export const qwen: Client = {
  name: 'qwen',
  title: 'Qwen Code',
  command: 'qwen',
  wire: 'chat',
  needsModel: false,
  usesMcp: true,
  launch: ({ baseUrl, mcp, keyed }, place) => ({
    args: [
      ...['--auth-type', 'openai'],
      // its environment says the same, which nobody else reads
      ...(keyed ? [] : ['--openai-base-url', baseUrl]),
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
