import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';

const calls = { read: readCall(['view']), log: shellCall(['bash']) };

const RESPONSES = { COPILOT_PROVIDER_WIRE_API: 'responses' };
const MESSAGES = { COPILOT_PROVIDER_TYPE: 'anthropic' };

async function run({ folder, home, work, baseUrl, bareUrl, rpcUrl, apiKey, task, env, start }, mcp, provider = {}) {
  const config = join(home, '.copilot');
  mkdirSync(config, { recursive: true });
  const mcpServers = mcp && rpcUrl !== null ? { pruner: { type: 'http', url: rpcUrl, tools: ['*'] } } : {};
  writeFileSync(join(config, 'mcp-config.json'), JSON.stringify({ mcpServers }));
  const cli = join(folder, 'node_modules/@github/copilot-linux-x64/copilot');
  const args = ['--prompt', task, '--silent', '--allow-all-tools', '--allow-all-paths', '--disable-client-telemetry'];
  const result = await start(cli, args, {
    cwd: work,
    env: {
      ...env,
      COPILOT_HOME: config,
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_PROVIDER_BASE_URL: provider === MESSAGES ? bareUrl : baseUrl,
      ...provider,
      COPILOT_PROVIDER_API_KEY: apiKey,
      COPILOT_MODEL: 'scripted',
    },
  });
  return { result, answer: result.stdout.trim().split('\n').at(-1) ?? null };
}

export const copilotDrivers = [
  {
    name: 'copilot',
    packages: 'copilot',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, false),
  },
  {
    name: 'copilot-mcp',
    packages: 'copilot',
    steps: ['read', 'log', 'recover', 'answer'],
    calls,
    run: (session) => run(session, true),
  },
  ...Object.entries({ responses: RESPONSES, messages: MESSAGES }).map(([wire, provider]) => ({
    name: `copilot-${wire}-mcp`,
    packages: 'copilot',
    steps: ['read', 'log', 'recover', 'answer'],
    calls,
    run: (session) => run(session, true, provider),
  })),
];
