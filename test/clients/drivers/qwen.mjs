import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { SOURCE_PATH } from '../lib/project.mjs';

const calls = {
  'find-tool': () => ({ name: 'tool_search', args: { query: 'select:mcp__pruner__recover_text' } }),
  read: readCall(['read_file']),
  log: shellCall(['run_shell_command']),
};

async function run({ folder, node, home, work, baseUrl, rpcUrl, apiKey, env, start }, prompt, mcp = false) {
  mkdirSync(join(home, '.qwen'), { recursive: true });
  const settings = {
    general: { disableAutoUpdate: true, disableUpdateNag: true },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    mcpServers: mcp && rpcUrl !== null ? { pruner: { httpUrl: rpcUrl, trust: true } } : {},
    security: { auth: { selectedType: 'openai' } },
  };
  writeFileSync(join(home, '.qwen/settings.json'), JSON.stringify(settings));
  const cli = join(folder, 'node_modules/@qwen-code/qwen-code/cli.js');
  const result = await start(node, [cli, '--yolo', '--output-format', 'json', '--model', 'scripted', prompt], {
    cwd: work,
    // It takes an HTTPS_PROXY for plain http and for loopback as well.
    env: {
      ...env,
      HTTPS_PROXY: '',
      https_proxy: '',
      OPENAI_API_KEY: apiKey,
      OPENAI_BASE_URL: baseUrl,
      OPENAI_MODEL: 'scripted',
    },
  });
  return { result, answer: answerIn(result.stdout) };
}

/** The text of the closing event. */
function answerIn(stdout) {
  try {
    return JSON.parse(stdout).find((event) => event.type === 'result')?.result ?? null;
  } catch {
    return null; // it ended before it could say anything
  }
}

export const qwenDrivers = [
  {
    name: 'qwen',
    packages: 'qwen',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, session.task),
  },
  {
    name: 'qwen-file',
    packages: 'qwen',
    steps: ['log', 'answer'],
    calls,
    run: (session) => run(session, `@${SOURCE_PATH} ${session.task}`),
  },
  {
    name: 'qwen-mcp',
    packages: 'qwen',
    // It shows only the names of MCP tools until the model has asked for one.
    steps: ['read', 'log', 'find-tool', 'recover', 'answer'],
    calls,
    run: (session) => run(session, session.task, true),
  },
];
