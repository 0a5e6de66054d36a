import { join } from 'node:path';
import {
  type Client,
  type ClientPlace,
  holdsToken,
  type JsonEntry,
  serverEntries,
  serverJson,
  type Wiring,
} from './client.ts';

/** Zed's own providers; changing the URL keeps their models and keys. */
function addresses({ baseUrl, origin }: Wiring): JsonEntry[] {
  const urls = { openai: baseUrl, anthropic: origin, google: origin };
  return Object.entries(urls).map(
    ([name, url]): JsonEntry => ({ path: ['language_models', name, 'api_url'], value: url }),
  );
}

function settingsFile({ env, homeDir }: ClientPlace): string {
  return join(env.XDG_CONFIG_HOME || join(homeDir, '.config'), 'zed/settings.json');
}

/**
 * Zed's agent as its documentation describes it (`language_models.<provider>.api_url`, `context_servers`):
 * https://zed.dev/docs/ai/llm-providers and https://zed.dev/docs/ai/mcp. Not tested, because it is not on npm.
 */
export const zed: Client = {
  name: 'zed',
  title: 'Zed, with a key of your own',
  command: 'zed',
  wire: 'chat',
  needsModel: false,
  usesMcp: true,
  launch: null,
  edits: (wiring, place) => [
    {
      format: 'json',
      file: settingsFile(place),
      comments: true,
      secret: holdsToken(wiring.mcp),
      entries: [...addresses(wiring), ...serverEntries(wiring.mcp, serverJson, 'context_servers')],
    },
  ],
  notes: [
    'Its providers openai, anthropic and google go through the proxy, with the keys that Zed holds. Models that Zed',
    'hosts itself do not. This follows the documentation of Zed and was not tested with the program.',
  ],
};
