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
  serverEntries,
  stdioJson,
  type Wiring,
} from './client.ts';
import { mergeJson, valueAt } from './merge-json.ts';

const PROVIDER_ID = 'openai-compatible';
/** Older than any later change of the provider by the user. */
const LONG_AGO = '2020-01-01T00:00:00.000Z';

function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http'
    ? { type: 'streamableHttp', url: mcp.url, ...headersJson(mcp) }
    : { transport: stdioJson(mcp.server, { type: 'stdio' }) };
}

function settingsFolder({ env, homeDir }: ClientPlace): string {
  const data = env.CLINE_DATA_DIR || join(env.CLINE_DIR || join(homeDir, '.cline'), 'data');
  return join(data, 'settings');
}

const providersFile = (place: ClientPlace): string =>
  place.env.CLINE_PROVIDER_SETTINGS_PATH || join(settingsFolder(place), 'providers.json');
const serversFile = (place: ClientPlace): string =>
  place.env.CLINE_MCP_SETTINGS_PATH || join(settingsFolder(place), 'cline_mcp_settings.json');

function providerEntries({ baseUrl, model }: Wiring, { env }: ClientPlace): JsonEntry[] {
  const provider = ['providers', PROVIDER_ID] as const;
  const settings = [...provider, 'settings'] as const;
  return [
    { path: ['version'], value: 1, ifAbsent: true },
    { path: ['lastUsedProvider'], value: PROVIDER_ID },
    { path: [...settings, 'provider'], value: PROVIDER_ID },
    { path: [...settings, 'baseUrl'], value: baseUrl },
    ...(env.OPENAI_API_KEY
      ? [{ path: [...settings, 'apiKey'], value: env.OPENAI_API_KEY, ifAbsent: true } as const]
      : []),
    ...(model === null ? [] : [{ path: [...settings, 'model'], value: model } as const]),
    // Cline skips providers without a modification time
    { path: [...provider, 'updatedAt'], value: LONG_AGO, ifAbsent: true },
    { path: [...provider, 'tokenSource'], value: 'manual', ifAbsent: true },
  ];
}

export const cline: Client = {
  name: 'cline',
  title: 'Cline CLI',
  command: 'cline',
  wire: 'chat',
  needsModel: true,
  usesMcp: true,
  keepsToken: true,
  launch(wiring, place, folder) {
    const own = (file: string, entries: readonly JsonEntry[]): string =>
      JSON.stringify(mergeJson(readLooseJson(place.readFile(file)) ?? {}, entries), null, 2);
    return {
      args: ['--provider', PROVIDER_ID],
      env: {
        CLINE_PROVIDER_SETTINGS_PATH: join(folder, 'providers.json'),
        CLINE_MCP_SETTINGS_PATH: join(folder, 'mcp.json'),
        // its daemon outlives the run, and would use this run's URLs in the next run
        CLINE_SESSION_BACKEND_MODE: 'local',
      },
      files: [
        { name: 'providers.json', text: own(providersFile(place), providerEntries(wiring, place)) },
        { name: 'mcp.json', text: own(serversFile(place), serverEntries(wiring.mcp, serverJson)) },
      ],
    };
  },
  edits: (wiring, place) => [
    {
      format: 'json',
      file: providersFile(place),
      // keys are set by the user: cline auth, or --key
      entries: providerEntries(wiring, { ...place, env: {} }),
    },
    {
      format: 'json',
      file: serversFile(place),
      secret: holdsToken(wiring.mcp),
      entries: serverEntries(wiring.mcp, serverJson),
    },
  ],
  problem: (place) => {
    const provider = valueAt(readLooseJson(place.readFile(providersFile(place))) ?? {}, ['providers', PROVIDER_ID]);
    const dated = provider === undefined || typeof valueAt(provider, ['updatedAt']) === 'string';
    return dated ? null : `it ignores the provider ${PROVIDER_ID}, which has no updatedAt in ${providersFile(place)}`;
  },
  notes: [
    `The key is that of the provider ${PROVIDER_ID} (cline auth -p ${PROVIDER_ID} -k …), or --key for one run.`,
    'Cline cuts tool results to 8,000 characters by itself; CLINE_MESSAGE_BUILDER_MAX_TOOL_RESULT_CHARS raises that.',
  ],
};
