import { join } from 'node:path';
import { SERVER_NAME } from '../mcp-servers.ts';
import {
  type Client,
  type ClientPlace,
  type JsonEntry,
  type JsonValue,
  type McpAccess,
  PROVIDER,
  type Wiring,
} from './client.ts';
import { mergeJson } from './merge-json.ts';

function serverJson(mcp: McpAccess): JsonValue {
  if (mcp.transport === 'http') return { type: 'remote', url: mcp.url, enabled: true, oauth: false };
  const { command, args = [], env = {} } = mcp.server;
  return { type: 'local', command: [command, ...args], environment: { ...env }, enabled: true };
}

function entriesOf({ baseUrl, mcp, model }: Wiring): JsonEntry[] {
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: PROVIDER,
    options: { baseURL: baseUrl, apiKey: '{env:OPENAI_API_KEY}' },
    models: { [model ?? '']: { name: model ?? '', tool_call: true } },
  };
  return [
    { path: ['provider', PROVIDER], value: provider },
    { path: ['model'], value: `${PROVIDER}/${model}` },
    ...(mcp === null ? [] : [{ path: ['mcp', SERVER_NAME], value: serverJson(mcp) } as const]),
  ];
}

/** opencode and its fork differ in names only. */
function client(name: string, title: string, variable: string): Client {
  return {
    name,
    title,
    command: name,
    proxied: true,
    needsModel: true,
    usesMcp: true,
    launch: (wiring, { env }) => ({
      args: [],
      env: { [variable]: JSON.stringify(mergeJson(parsed(env[variable]), entriesOf(wiring))) },
      files: [],
    }),
    edits: (wiring, place) => [
      { format: 'json', file: join(configFolder(place), name, `${name}.json`), entries: entriesOf(wiring) },
    ],
    notes: [
      `The built-in provider openai speaks the responses dialect, which is not pruned: use models of ${PROVIDER}/.`,
      'The key is read from OPENAI_API_KEY.',
    ],
  };
}

function configFolder({ env, homeDir }: ClientPlace): string {
  return env.XDG_CONFIG_HOME || join(homeDir, '.config');
}

/** What stands in the variable already, if it can be read. */
function parsed(text: string | undefined): JsonValue {
  try {
    return JSON.parse(text || '{}') as JsonValue;
  } catch {
    return {};
  }
}

export const opencode = client('opencode', 'opencode', 'OPENCODE_CONFIG_CONTENT');
export const kilo = client('kilo', 'Kilo Code CLI', 'KILO_CONFIG_CONTENT');
