import { join } from 'node:path';
import { readLooseJson } from '../edit-json.ts';
import { type Client, type ClientPlace, holdsToken, type JsonEntry, serverEntries } from './client.ts';
import { serverJson, withoutProxies } from './gemini-family.ts';
import { linkedHome } from './linked-home.ts';
import { mergeJson } from './merge-json.ts';

const SETTINGS = 'settings.json';
/** Home of Gemini CLI for one run, in the run's folder. */
const RUN_HOME = 'gemini-home';

/**
 * If a base URL is set and the settings name no login type, Gemini CLI uses `gateway`, which refuses an API key. A
 * login type chosen by the user is kept.
 */
const API_KEY_LOGIN: JsonEntry = {
  path: ['security', 'auth', 'selectedType'],
  value: 'gemini-api-key',
  ifAbsent: true,
};

export const gemini: Client = {
  name: 'gemini',
  title: 'Gemini CLI, with a key of your own',
  command: 'gemini',
  wire: 'gemini',
  needsModel: false,
  usesMcp: true,
  keepsToken: true,
  launch({ origin, mcp }, place, folder) {
    const own = join(place.env.GEMINI_CLI_HOME || place.homeDir, '.gemini');
    const before = readLooseJson(place.readFile(join(own, SETTINGS))) ?? {};
    const settings = mergeJson(before, [...loginEntries(place), ...serverEntries(mcp, serverJson)]);
    return {
      args: [],
      env: { GOOGLE_GEMINI_BASE_URL: origin, GEMINI_CLI_HOME: join(folder, RUN_HOME), ...withoutProxies(place) },
      ...linkedHome(
        join(RUN_HOME, '.gemini'),
        own,
        [{ name: SETTINGS, text: JSON.stringify(settings, null, 2) }],
        place,
      ),
    };
  },
  edits: ({ mcp }, place) => [
    {
      format: 'json',
      file: join(place.homeDir, '.gemini', SETTINGS),
      comments: true,
      secret: holdsToken(mcp),
      entries: [...loginEntries(place), ...serverEntries(mcp, serverJson)],
    },
  ],
  exports: ({ origin }) => ({ GOOGLE_GEMINI_BASE_URL: origin }),
  upstream: ({ env: { GOOGLE_GEMINI_BASE_URL: base = '' } }) =>
    base === '' ? null : `${base.replace(/(?<!\/)\/+$/, '')}/v1beta`,
  notes: [
    'The address is set by GOOGLE_GEMINI_BASE_URL only, which can be in ~/.gemini/.env. Gemini CLI needs GEMINI_API_KEY.',
    'A login with a Google account uses another service, which this address does not change.',
  ],
};

/** Sets the login type, unless the environment already selects another one. */
function loginEntries({ env }: ClientPlace): JsonEntry[] {
  const selected = [env.GOOGLE_GENAI_USE_GCA, env.GOOGLE_GENAI_USE_VERTEXAI].includes('true');
  return selected ? [] : [API_KEY_LOGIN];
}
