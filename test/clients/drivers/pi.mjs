import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { SOURCE_PATH } from '../lib/project.mjs';

const calls = { read: readCall(['read']), log: shellCall(['bash']) };

async function run(
  { folder, node, home, work, baseUrl, bareUrl, apiKey, task, env, start },
  files,
  api = 'openai-completions',
) {
  const config = join(home, '.pi/agent');
  mkdirSync(config, { recursive: true });
  const model = { id: 'scripted', contextWindow: 200_000, maxTokens: 8000 };
  const address = api === 'anthropic-messages' ? bareUrl : baseUrl;
  const scripted = { baseUrl: address, api, apiKey, models: [model] };
  writeFileSync(join(config, 'models.json'), JSON.stringify({ providers: { scripted } }));
  const cli = join(folder, 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js');
  const args = [cli, '--print', '--offline', '--no-session', '--provider', 'scripted', '--model', 'scripted'];
  const result = await start(node, [...args, ...files, task], {
    cwd: work,
    env: { ...env, PI_CODING_AGENT_DIR: config, PI_TELEMETRY: '0' },
  });
  return { result, answer: result.stdout.trim() };
}

export const piDrivers = [
  { name: 'pi', packages: 'pi', steps: ['read', 'log', 'answer'], calls, run: (session) => run(session, []) },
  ...Object.entries({ responses: 'openai-responses', messages: 'anthropic-messages' }).map(([wire, api]) => ({
    name: `pi-${wire}`,
    packages: 'pi',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, [], api),
  })),
  // The file comes in front of the user's words, in the same string.
  {
    name: 'pi-file',
    packages: 'pi',
    steps: ['log', 'answer'],
    calls,
    run: (session) => run(session, [`@${SOURCE_PATH}`]),
  },
];
