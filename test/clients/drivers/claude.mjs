import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AWS_KEY } from '../lib/aws.mjs';
import { readCall, shellCall } from '../lib/calls.mjs';
import { MCP_PRUNER, treeOf } from '../lib/out-of-the-box.mjs';

const calls = {
  // It shows only the names of MCP tools until the model has asked for one, unless the server's entry has alwaysLoad.
  'find-tool': () => ({
    name: 'ToolSearch',
    args: { query: 'select:mcp__pruner__recover_text', max_results: 5 },
  }),
  read: readCall(['Read']),
  log: shellCall(['Bash']),
};

async function run({ folder, home, work, bareUrl, rpcUrl, apiKey, task, env, start }, mcp, cloud) {
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
  const servers = mcp && rpcUrl !== null ? { pruner: { type: 'http', url: rpcUrl } } : {};
  const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
  const args = ['-p', task, '--output-format', 'json', '--allowedTools', 'Read,Bash,mcp__pruner'];
  const result = await start(cli, [...args, `--mcp-config=${JSON.stringify({ mcpServers: servers })}`], {
    cwd: work,
    env: {
      ...env,
      ...(cloud?.(bareUrl, apiKey) ?? { ANTHROPIC_BASE_URL: bareUrl, ANTHROPIC_API_KEY: apiKey }),
      ENABLE_TOOL_SEARCH: 'true',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  });
  return { result, answer: answerIn(result.stdout) };
}

/** Nothing is set up: the agent is started by `mcp-pruner run claude`, which must leave nothing behind. */
async function runOutOfTheBox(session, cloud) {
  const { folder, home, work, bareUrl, rpcUrl, apiKey, task, env, start } = session;
  if (rpcUrl === null) return run(session, false, cloud);
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
  const before = treeOf(home, ['mcp-pruner', 'settings.json']);
  const agent = ['-p', task, '--output-format', 'json', '--allowedTools', 'Read,Bash,mcp__pruner'];
  const result = await start(process.execPath, [MCP_PRUNER, 'run', 'claude', '--proxy', bareUrl, '--', ...agent], {
    cwd: work,
    env: {
      ...env,
      PATH: `${join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64')}:${env.PATH}`,
      ...(cloud === undefined ? { ANTHROPIC_API_KEY: apiKey } : withoutAddress(cloud(bareUrl, apiKey))),
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  });
  const left = treeOf(home, ['mcp-pruner', 'settings.json']).filter((path) => !before.includes(path));
  if (left.length > 0) throw new Error(`run left behind: ${left.join(', ')}`);
  return { result, answer: answerIn(result.stdout) };
}

/** What a user of a cloud has in the environment: `run` sets the base URL. */
function withoutAddress(variables) {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !name.endsWith('_BASE_URL')));
}

function answerIn(stdout) {
  try {
    return JSON.parse(stdout).result ?? null;
  } catch {
    return null; // it ended before it could say anything
  }
}

const AWS_KEY_VARIABLES = { AWS_ACCESS_KEY_ID: AWS_KEY.id, AWS_SECRET_ACCESS_KEY: AWS_KEY.secret };

/** The environment of each cloud: where it is, and a key or token in place of a login. */
const clouds = {
  bedrock: (origin, key) => ({
    CLAUDE_CODE_USE_BEDROCK: '1',
    ANTHROPIC_BEDROCK_BASE_URL: origin,
    AWS_BEARER_TOKEN_BEDROCK: key,
    AWS_REGION: 'us-east-1',
    ANTHROPIC_MODEL: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  }),
  mantle: (origin, key) => ({
    CLAUDE_CODE_USE_MANTLE: '1',
    ANTHROPIC_BEDROCK_MANTLE_BASE_URL: `${origin}/anthropic`,
    AWS_BEARER_TOKEN_BEDROCK: key,
    AWS_REGION: 'us-east-1',
    ANTHROPIC_MODEL: 'anthropic.claude-sonnet-4-5',
  }),
  vertex: (origin) => ({
    CLAUDE_CODE_USE_VERTEX: '1',
    ANTHROPIC_VERTEX_BASE_URL: `${origin}/v1`,
    CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
    ANTHROPIC_VERTEX_PROJECT_ID: 'p-1',
    CLOUD_ML_REGION: 'us-east5',
    ANTHROPIC_MODEL: 'claude-sonnet-4-5@20250929',
  }),
  foundry: (origin, key) => ({
    CLAUDE_CODE_USE_FOUNDRY: '1',
    ANTHROPIC_FOUNDRY_BASE_URL: `${origin}/anthropic`,
    ANTHROPIC_FOUNDRY_API_KEY: key,
    ANTHROPIC_MODEL: 'claude-sonnet-4-5',
  }),
};

/** Clouds of AWS whose requests the client signs; the proxy has the same key. */
const signed = ['bedrock', 'mantle'].map((name) => ({
  name: `claude-${name}-signed`,
  packages: 'claude',
  steps: ['read', 'log', 'answer'],
  calls,
  settings: AWS_KEY_VARIABLES,
  run: (session) =>
    run(session, false, (origin) => {
      const { AWS_BEARER_TOKEN_BEDROCK: _, ...variables } = clouds[name](origin, '');
      return { ...variables, ...AWS_KEY_VARIABLES };
    }),
}));

export const claudeDrivers = [
  ...signed,
  ...Object.entries(clouds).map(([name, cloud]) => ({
    name: `claude-${name}`,
    packages: 'claude',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, false, cloud),
  })),
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
    steps: ['read', 'log', 'find-tool', 'recover', 'answer'],
    calls,
    run: (session) => run(session, true),
  },
  {
    name: 'claude-run',
    packages: 'claude',
    steps: ['read', 'log', 'recover', 'answer'], // `run` has the tools loaded: no search for them
    calls,
    run: (session) => runOutOfTheBox(session),
  },
  ...Object.entries(clouds).map(([name, cloud]) => ({
    name: `claude-run-${name}`,
    packages: 'claude',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => runOutOfTheBox(session, cloud),
  })),
];
