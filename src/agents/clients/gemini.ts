import { join } from 'node:path';
import { type Client, serverEdits } from './client.ts';
import { serverJson, withoutProxies } from './gemini-family.ts';

export const gemini: Client = {
  name: 'gemini',
  title: 'Gemini CLI, with a key of your own',
  command: 'gemini',
  wire: 'gemini',
  needsModel: false,
  usesMcp: true,
  mcpBySetupOnly: true,
  // it reads no settings from temporary folders: for one run lines come back by `mcp-pruner recover`, as markers say
  launch: ({ origin }, place) => ({
    args: [],
    env: { GOOGLE_GEMINI_BASE_URL: origin, ...withoutProxies(place) },
    files: [],
  }),
  edits: ({ mcp }, { homeDir }) =>
    serverEdits(join(homeDir, '.gemini/settings.json'), mcp, serverJson, { comments: true }),
  exports: ({ origin }) => ({ GOOGLE_GEMINI_BASE_URL: origin }),
  upstream: ({ env: { GOOGLE_GEMINI_BASE_URL: base = '' } }) =>
    base === '' ? null : `${base.replace(/(?<!\/)\/+$/, '')}/v1beta`,
  notes: [
    'run gives it no MCP server, setup does.',
    'The address is set by GOOGLE_GEMINI_BASE_URL only; ~/.gemini/.env may hold it. It needs GEMINI_API_KEY.',
    'Who is logged in with a Google account speaks to another service, which this address does not change.',
  ],
};
