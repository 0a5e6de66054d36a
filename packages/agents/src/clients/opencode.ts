import { join } from 'node:path';
import { readLooseJson } from '../edit-json.ts';
import {
  type Client,
  type ClientPlace,
  headersJson,
  holdsToken,
  type JsonEntry,
  type JsonValue,
  type McpAccess,
  PROVIDER,
  serverEntries,
  type Wiring,
} from './client.ts';
import { mergeJson } from './merge-json.ts';

/** Built-in providers of opencode; each uses its own wire with any URL. */
const BUILT_IN: readonly string[] = ['openai', 'anthropic'];

function serverJson(mcp: McpAccess): JsonValue {
  if (mcp.transport === 'http') {
    return { type: 'remote', url: mcp.url, enabled: true, oauth: false, ...headersJson(mcp) };
  }
  const { command, args = [], env = {} } = mcp.server;
  return { type: 'local', command: [command, ...args], environment: { ...env }, enabled: true };
}

/** All places where a provider may have been written, for finding and removing it. */
function allProviderEntries({ baseUrl }: Wiring): JsonEntry[] {
  return [
    { path: ['provider', PROVIDER], value: null },
    ...BUILT_IN.map((name): JsonEntry => ({ path: ['provider', name, 'options', 'baseURL'], value: baseUrl })),
    { path: ['model'], value: PROVIDER },
  ];
}

/** `openai/…` uses responses, `anthropic/…` messages, any other model chat completions. */
function providerEntries(wiring: Wiring): JsonEntry[] {
  const { baseUrl, model } = wiring;
  if (model === null) return allProviderEntries(wiring);
  const name = model;
  const [builtIn = '', ...rest] = name.split('/');
  if (rest.length > 0 && BUILT_IN.includes(builtIn)) {
    return [
      { path: ['provider', builtIn, 'options', 'baseURL'], value: baseUrl },
      { path: ['model'], value: name },
    ];
  }
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: PROVIDER,
    options: { baseURL: baseUrl, apiKey: '{env:OPENAI_API_KEY}' },
    models: { [name]: { name, tool_call: true } },
  };
  return [
    { path: ['provider', PROVIDER], value: provider },
    { path: ['model'], value: `${PROVIDER}/${name}` },
  ];
}

function entriesOf(wiring: Wiring): JsonEntry[] {
  return [...providerEntries(wiring), ...serverEntries(wiring.mcp, serverJson, 'mcp')];
}

/** opencode and its fork differ in names only. */
function client(name: string, title: string, variable: string): Client {
  return {
    name,
    title,
    command: name,
    wire: 'chat',
    needsModel: true,
    usesMcp: true,
    keepsToken: true,
    launch: (wiring, { env }) => ({
      args: [],
      env: { [variable]: JSON.stringify(mergeJson(readLooseJson(env[variable] ?? null) ?? {}, entriesOf(wiring))) },
      files: [],
    }),
    edits: (wiring, place) => [
      {
        format: 'json',
        file: settingsFile(place, name),
        comments: true,
        secret: holdsToken(wiring.mcp),
        entries: entriesOf(wiring),
      },
    ],
    notes: [
      `--model ${PROVIDER}/… is not needed: a bare name goes by chat completions, openai/<name> by responses, anthropic/<name> by messages.`,
      'The key of a bare name is read from OPENAI_API_KEY; the others use the login of their provider.',
    ],
  };
}

/** The user's existing settings file; opencode reads both names. */
function settingsFile(place: ClientPlace, name: string): string {
  const { env, homeDir, readFile } = place;
  const stem = join(env.XDG_CONFIG_HOME || join(homeDir, '.config'), name, name);
  return readFile(`${stem}.json`) === null && readFile(`${stem}.jsonc`) !== null ? `${stem}.jsonc` : `${stem}.json`;
}

export const opencode = client('opencode', 'opencode', 'OPENCODE_CONFIG_CONTENT');
export const kilo = client('kilo', 'Kilo Code CLI', 'KILO_CONFIG_CONTENT');
