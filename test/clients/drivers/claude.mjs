import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { MCP_PRUNER, treeOf } from '../lib/out-of-the-box.mjs';

const calls = {
  // It shows only the names of MCP tools until the model has asked for one.
  'find-tool': () => ({
    name: 'ToolSearch',
    args: { query: 'select:mcp__pruner__recover_text', max_results: 5 },
  }),
  read: readCall(['Read']),
  log: shellCall(['Bash']),
};

async function run({ folder, home, work, bareUrl, rpcUrl, apiKey, task, env, start }, mcp) {
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
  const servers = mcp && rpcUrl !== null ? { pruner: { type: 'http', url: rpcUrl } } : {};
  const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
  const args = ['-p', task, '--output-format', 'json', '--allowedTools', 'Read,Bash,mcp__pruner'];
  const result = await start(cli, [...args, `--mcp-config=${JSON.stringify({ mcpServers: servers })}`], {
    cwd: work,
    env: {
      ...env,
      ANTHROPIC_BASE_URL: bareUrl,
      ANTHROPIC_API_KEY: apiKey,
      ENABLE_TOOL_SEARCH: 'true',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  });
  return { result, answer: answerIn(result.stdout) };
}

/** Nothing is set up: the agent is started by `mcp-pruner run claude`, which must leave nothing behind. */
async function runOutOfTheBox(session) {
  const { folder, home, work, bareUrl, rpcUrl, apiKey, task, env, start } = session;
  if (rpcUrl === null) return run(session, false);
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
  const before = treeOf(home, ['mcp-pruner', 'settings.json']);
  const agent = ['-p', task, '--output-format', 'json', '--allowedTools', 'Read,Bash,mcp__pruner'];
  const result = await start(process.execPath, [MCP_PRUNER, 'run', 'claude', '--proxy', bareUrl, '--', ...agent], {
    cwd: work,
    env: {
      ...env,
      PATH: `${join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64')}:${env.PATH}`,
      ANTHROPIC_API_KEY: apiKey,
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  });
  const left = treeOf(home, ['mcp-pruner', 'settings.json']).filter((path) => !before.includes(path));
  if (left.length > 0) throw new Error(`run left behind: ${left.join(', ')}`);
  return { result, answer: answerIn(result.stdout) };
}

function answerIn(stdout) {
  try {
    return JSON.parse(stdout).result ?? null;
  } catch {
    return null; // it ended before it could say anything
  }
}

export const claudeDrivers = [
  {
    name: 'claude',
    packages: 'claude',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, false),
  },
  {
    name: 'claude-mcp',
    packages: 'claude',
    steps: ['read', 'find-tool', 'recover', 'log', 'answer'],
    calls,
    run: (session) => run(session, true),
  },
  {
    name: 'claude-run',
    packages: 'claude',
    steps: ['read', 'find-tool', 'recover', 'log', 'answer'],
    calls,
    run: runOutOfTheBox,
  },
];
