import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';

const calls = { read: readCall(['Read']), log: shellCall(['Bash']) };

async function run({ folder, node, home, work, baseUrl, rpcUrl, apiKey, task, env, start }, mcp) {
  const config = join(home, '.continue/config.yaml');
  mkdirSync(join(home, '.continue'), { recursive: true });
  const lines = [
    'name: scripted',
    'version: 1.0.0',
    'schema: v1',
    'models:',
    '  - name: scripted',
    '    provider: openai',
    '    model: scripted',
    `    apiBase: ${baseUrl}`,
    `    apiKey: ${apiKey}`,
    '    roles: [chat]',
    '    capabilities: [tool_use]',
    '    defaultCompletionOptions: { contextLength: 200000 }',
    ...(mcp && rpcUrl !== null
      ? ['mcpServers:', '  - name: pruner', '    type: streamable-http', `    url: ${rpcUrl}`]
      : []),
    '',
  ];
  writeFileSync(config, lines.join('\n'));
  const cli = join(folder, 'node_modules/@continuedev/cli/dist/cn.js');
  const result = await start(node, [cli, '--print', '--auto', '--config', config, task], {
    cwd: work,
    env: {
      ...env,
      CONTINUE_TELEMETRY_ENABLED: '0',
      CONTINUE_CLI_ENABLE_TELEMETRY: '0',
      HTTPS_PROXY: '',
      https_proxy: '',
    },
  });
  return { result, answer: result.stdout.trim() };
}

export const continueDrivers = [
  {
    name: 'continue',
    packages: 'continue',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, false),
  },
  {
    name: 'continue-mcp',
    packages: 'continue',
    steps: ['read', 'log', 'recover', 'answer'],
    calls,
    run: (session) => run(session, true),
  },
];
