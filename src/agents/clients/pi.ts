import { join } from 'node:path';
import { readLooseJson } from '../edit-json.ts';
import type { Client, ClientPlace, JsonEntry, Wiring } from './client.ts';
import { linkedHome } from './linked-home.ts';
import { mergeJson } from './merge-json.ts';

const MODELS = 'models.json';
/** Its settings for one run, in the folder of that run. */
const RUN_HOME = 'pi-home';

function agentFolder({ env, homeDir }: ClientPlace): string {
  return env.PI_CODING_AGENT_DIR || join(homeDir, '.pi/agent');
}

/** Built-in providers of pi. A changed address keeps their models and logins. */
function addresses({ baseUrl, origin }: Wiring): JsonEntry[] {
  const urls = { openai: baseUrl, anthropic: origin, google: `${origin}/v1beta` };
  return Object.entries(urls).map(([name, url]): JsonEntry => ({ path: ['providers', name, 'baseUrl'], value: url }));
}

export const pi: Client = {
  name: 'pi',
  title: 'pi',
  command: 'pi',
  wire: 'messages',
  needsModel: false,
  usesMcp: false,
  launch(wiring, place, folder) {
    const own = agentFolder(place);
    const models = mergeJson(readLooseJson(place.readFile(join(own, MODELS))) ?? {}, addresses(wiring));
    return {
      args: [],
      env: { PI_CODING_AGENT_DIR: join(folder, RUN_HOME) },
      ...linkedHome(RUN_HOME, own, { name: MODELS, text: JSON.stringify(models, null, 2) }, place),
    };
  },
  edits: (wiring, place) => [
    { format: 'json', file: join(agentFolder(place), MODELS), comments: true, entries: addresses(wiring) },
  ],
  notes: [
    'Its providers openai, anthropic and google go through the proxy, with their models and keys.',
    'pi does not support MCP: it recovers cut lines in its shell, with mcp-pruner recover.',
  ],
};
