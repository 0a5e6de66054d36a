import { join } from 'node:path';
import { readLooseJson } from '../edit-json.ts';
import {
  type Client,
  type ClientPlace,
  headersJson,
  type JsonEntry,
  type JsonValue,
  type McpAccess,
  serverEdits,
  serverEntries,
  stdioJson,
  type Wiring,
} from './client.ts';
import { linkedHome } from './linked-home.ts';
import { mergeJson } from './merge-json.ts';

const MODELS = 'models.json';
const SERVERS = 'mcp.json';
/** Settings for one run, in the run's folder. */
const RUN_HOME = 'pi-home';

function agentFolder({ env, homeDir }: ClientPlace): string {
  return env.PI_CODING_AGENT_DIR || join(homeDir, '.pi/agent');
}

/** Built-in providers of pi. Changing the URL keeps their models and logins. */
function addresses({ baseUrl, origin }: Wiring): JsonEntry[] {
  const urls = { openai: baseUrl, anthropic: origin, google: `${origin}/v1beta` };
  return Object.entries(urls).map(([name, url]): JsonEntry => ({ path: ['providers', name, 'baseUrl'], value: url }));
}

/** Without `direct`, pi does not declare the server's tools to the model. Versions before 1.0 ignore the file. */
function directServer(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http'
    ? { url: mcp.url, ...headersJson(mcp), exposure: 'direct' }
    : stdioJson(mcp.server, { exposure: 'direct' });
}

export const pi: Client = {
  name: 'pi',
  title: 'pi',
  command: 'pi',
  wire: 'messages',
  needsModel: false,
  usesMcp: true,
  keepsToken: true,
  launch(wiring, place, folder) {
    const own = agentFolder(place);
    const merged = (name: string, entries: readonly JsonEntry[]) => {
      const before = readLooseJson(place.readFile(join(own, name))) ?? {};
      return { name, text: JSON.stringify(mergeJson(before, entries), null, 2) };
    };
    const files = [merged(MODELS, addresses(wiring)), merged(SERVERS, serverEntries(wiring.mcp, directServer))];
    return {
      args: [],
      env: { PI_CODING_AGENT_DIR: join(folder, RUN_HOME) },
      ...linkedHome(RUN_HOME, own, files, place),
    };
  },
  edits: (wiring, place) => [
    { format: 'json', file: join(agentFolder(place), MODELS), comments: true, entries: addresses(wiring) },
    ...serverEdits(join(agentFolder(place), SERVERS), wiring.mcp, directServer),
  ],
  notes: [
    'Its providers openai, anthropic and google go through the proxy, with their models and keys.',
    'Versions before 1.0 have no MCP: they recover cut lines in the shell, with mcp-pruner recover.',
  ],
};
