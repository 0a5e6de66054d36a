import { join } from 'node:path';
import { readLooseJson } from '../edit-json.ts';
import {
  type Client,
  type ClientPlace,
  headersJson,
  type JsonValue,
  type McpAccess,
  serverEdits,
  serverEntries,
  stdioJson,
  type Wiring,
} from './client.ts';
import { linkedHome } from './linked-home.ts';
import { mergeJson } from './merge-json.ts';

const SERVERS = 'mcp.json';
/** Settings for one run, in the run's folder. */
const RUN_HOME = 'kimi-home';

function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http'
    ? { transport: 'http', url: mcp.url, ...headersJson(mcp) }
    : stdioJson(mcp.server, { transport: 'stdio' });
}

function settingsFolder({ env, homeDir }: ClientPlace): string {
  return env.KIMI_CODE_HOME || join(homeDir, '.kimi-code');
}

/** A custom model, which needs no login. Set by variables only, because a file would have to contain the key. */
function variables({ baseUrl, model }: Wiring): Record<string, string> {
  return { KIMI_MODEL_NAME: model ?? '', KIMI_MODEL_PROVIDER_TYPE: 'openai', KIMI_MODEL_BASE_URL: baseUrl };
}

export const kimi: Client = {
  name: 'kimi',
  title: 'Kimi Code, with a key of your own',
  command: 'kimi',
  wire: 'chat',
  needsModel: true,
  usesMcp: true,
  keepsToken: true,
  launch(wiring, place, folder) {
    const own = settingsFolder(place);
    const before = readLooseJson(place.readFile(join(own, SERVERS))) ?? {};
    const servers = mergeJson(before, serverEntries(wiring.mcp, serverJson));
    const key = place.env.KIMI_MODEL_API_KEY || place.env.OPENAI_API_KEY;
    return {
      args: [],
      env: {
        ...variables(wiring),
        ...(key ? { KIMI_MODEL_API_KEY: key } : {}),
        KIMI_CODE_HOME: join(folder, RUN_HOME),
      },
      ...linkedHome(RUN_HOME, own, [{ name: SERVERS, text: JSON.stringify(servers, null, 2) }], place),
    };
  },
  edits: ({ mcp }, place) => serverEdits(join(settingsFolder(place), SERVERS), mcp, serverJson),
  exports: (wiring) => ({ ...variables(wiring), KIMI_MODEL_API_KEY: '"$OPENAI_API_KEY"' }),
  notes: ['The model is set by these variables only. A login with a Kimi account uses another address, unpruned.'],
};
