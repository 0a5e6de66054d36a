import { join } from 'node:path';
import { type Client, type JsonEntry, PROVIDER, serverEdits, serverJson, type Wiring } from './client.ts';

/** A model profile. `baseUrl` is the complete endpoint; the file is named like the profile. */
function profile({ baseUrl, model }: Wiring): JsonEntry[] {
  return [
    ...(model === null ? [] : [{ path: ['id'], value: model } as const]),
    { path: ['baseUrl'], value: `${baseUrl}/responses` },
    { path: ['apiType'], value: 'OpenAIResponses' },
    { path: ['apiKey'], value: `\${OPENAI_API_KEY}`, ifAbsent: true },
  ];
}

/**
 * Junie CLI as its documentation describes it (custom model profiles in `~/.junie/models`, servers in
 * `~/.junie/mcp/mcp.json`): https://junie.jetbrains.com/docs/. Not tested, because the program is not on npm.
 */
export const junie: Client = {
  name: 'junie',
  title: 'Junie CLI',
  command: 'junie',
  wire: 'responses',
  needsModel: true,
  usesMcp: true,
  launch: null,
  edits: (wiring, { homeDir }) => [
    { format: 'json', file: join(homeDir, `.junie/models/${PROVIDER}.json`), entries: profile(wiring) },
    ...serverEdits(join(homeDir, '.junie/mcp/mcp.json'), wiring.mcp, serverJson),
  ],
  notes: [
    `junie --model custom:${PROVIDER} uses it, with the key in OPENAI_API_KEY.`,
    'This follows the documentation of Junie and was not tested with the program.',
  ],
};
