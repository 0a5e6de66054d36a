import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { MCP_PRUNER, treeOf } from '../lib/out-of-the-box.mjs';
import { SOURCE_PATH } from '../lib/project.mjs';

const calls = {
  read: readCall(['read_file']),
  log: shellCall(['run_shell_command']),
};

const FLAGS = ['--yolo', '--output-format', 'json', '--model', 'gemini-2.5-flash'];

function writeSettings(home, mcpServers) {
  mkdirSync(join(home, '.gemini'), { recursive: true });
  const settings = {
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    mcpServers,
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  };
  writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(settings));
}

async function run({ folder, home, work, bareUrl, rpcUrl, apiKey, env, start }, prompt, mcp = false) {
  writeSettings(home, mcp && rpcUrl !== null ? { pruner: { httpUrl: rpcUrl, trust: true } } : {});
  const cli = join(folder, 'node_modules/@google/gemini-cli/bundle/gemini.js');
  const result = await start(process.execPath, [cli, ...FLAGS, '--prompt', prompt], {
    cwd: work,
    // It takes an HTTPS_PROXY for plain http and for loopback as well.
    env: { ...env, HTTPS_PROXY: '', https_proxy: '', GEMINI_API_KEY: apiKey, GOOGLE_GEMINI_BASE_URL: bareUrl },
  });
  return { result, answer: answerIn(result.stdout) };
}

/** An empty home with nothing but a key: `mcp-pruner run gemini` starts the agent and must leave nothing behind. */
async function runOutOfTheBox(session) {
  const { folder, home, work, bareUrl, rpcUrl, apiKey, task, env, start } = session;
  if (rpcUrl === null) return run(session, task);
  const bin = join(folder, 'node_modules/.bin');
  const before = treeOf(home, ['mcp-pruner']);
  const agent = [...FLAGS, '--skip-trust', '--prompt', task];
  const result = await start(process.execPath, [MCP_PRUNER, 'run', 'gemini', '--proxy', bareUrl, '--', ...agent], {
    cwd: work,
    env: { ...env, PATH: `${bin}:${env.PATH}`, GEMINI_API_KEY: apiKey },
  });
  const own = join('.gemini', ''); // its history of this session
  const left = treeOf(home, ['mcp-pruner']).filter((path) => !before.includes(path) && !path.includes(own));
  if (left.length > 0) throw new Error(`run left behind: ${left.join(', ')}`);
  return { result, answer: answerIn(result.stdout) };
}

function answerIn(stdout) {
  try {
    return JSON.parse(stdout.slice(stdout.indexOf('{'))).response ?? null;
  } catch {
    return null; // it ended before it could say anything
  }
}

export const geminiDrivers = [
  {
    name: 'gemini',
    packages: 'gemini',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, session.task),
  },
  {
    name: 'gemini-file',
    packages: 'gemini',
    steps: ['log', 'answer'],
    calls,
    run: (session) => run(session, `@${SOURCE_PATH} ${session.task}`),
  },
  {
    name: 'gemini-mcp',
    packages: 'gemini',
    steps: ['read', 'log', 'recover', 'answer'],
    calls,
    run: (session) => run(session, session.task, true),
  },
  {
    name: 'gemini-run',
    packages: 'gemini',
    steps: ['read', 'log', 'recover', 'answer'],
    calls,
    run: runOutOfTheBox,
  },
];
