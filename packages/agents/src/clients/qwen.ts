import { join } from 'node:path';
import { type Client, holdsToken, type JsonEntry, serverEntries, serversText } from './client.ts';
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
      // a URL with a key is only passed in the environment, because others can read command lines
      ...(keyed ? [] : ['--openai-base-url', baseUrl]),
      ...(mcp === null ? [] : ['--mcp-config', serversText(mcp, serverJson)]),
    ],
    env: { OPENAI_BASE_URL: baseUrl, ...withoutProxies(place) },
    files: [],
  }),
  edits({ baseUrl, mcp }, { homeDir }) {
    const provider: JsonEntry[] = [
      { path: ['security', 'auth', 'selectedType'], value: 'openai' },
      { path: ['security', 'auth', 'baseUrl'], value: baseUrl },
    ];
    return [
      {
        format: 'json',
        file: join(homeDir, '.qwen/settings.json'),
        comments: true,
        secret: holdsToken(mcp),
        entries: [...provider, ...serverEntries(mcp, serverJson)],
      },
    ];
  },
  notes: [
    'OPENAI_BASE_URL takes precedence over this file: unset it. The key is read from OPENAI_API_KEY, the model from OPENAI_MODEL.',
    'If HTTPS_PROXY is set, unset it for qwen: otherwise qwen sends requests to this machine through that proxy, too.',
  ],
};
