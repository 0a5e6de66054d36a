import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { MCP_PRUNER, treeOf } from '../lib/out-of-the-box.mjs';
import { LOG_COMMAND, SOURCE_PATH } from '../lib/project.mjs';
import { command } from '../mcp/setups.mjs';

const calls = { read: readCall(['read']), log: shellCall(['bash']) };

async function run(
  { folder, node, home, work, baseUrl, bareUrl, apiKey, task, env, start },
  files,
  api = 'openai-completions',
) {
  const config = join(home, '.pi/agent');
  mkdirSync(config, { recursive: true });
  // with reasoning the history is bound
  const model = { id: 'scripted', contextWindow: 200_000, maxTokens: 8000, reasoning: api !== 'openai-completions' };
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

/** Nothing is set up: the agent is started by `mcp-pruner run pi`, with a provider and a model that pi has itself. */
async function runOutOfTheBox(session) {
  const { folder, node, home, work, bareUrl, rpcUrl, apiKey, task, env, start } = session;
  if (rpcUrl === null) return run(session, [], 'anthropic-messages');
  const bin = join(home, 'bin');
  command(bin, 'pi', join(folder, 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js'), node);
  const agent = ['--print', '--offline', '--no-session', '--provider', 'anthropic', '--model', 'claude-sonnet-4-5'];
  const result = await start(process.execPath, [MCP_PRUNER, 'run', 'pi', '--proxy', bareUrl, '--', ...agent, task], {
    cwd: work,
    env: { ...env, PATH: `${bin}:${env.PATH}`, ANTHROPIC_API_KEY: apiKey, PI_TELEMETRY: '0' },
  });
  const left = treeOf(home, ['mcp-pruner', 'models.json']);
  if (left.length > 0) throw new Error(`run left behind: ${left.join(', ')}`);
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
  {
    name: 'pi-run',
    packages: 'pi',
    steps: ['read', 'log', 'answer'],
    // Anthropic's models have strict tools in pi, which want every argument
    calls: {
      read: () => ({ name: 'read', args: { path: SOURCE_PATH, offset: 1, limit: 5000 } }),
      log: () => ({ name: 'bash', args: { command: LOG_COMMAND, timeout: 60 } }),
    },
    run: runOutOfTheBox,
  },
  // The file comes in front of the user's words, in the same string.
  {
    name: 'pi-file',
    packages: 'pi',
    steps: ['log', 'answer'],
    calls,
    run: (session) => run(session, [`@${SOURCE_PATH}`]),
  },
];
