import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shellCall } from '../lib/calls.mjs';
import { eventsIn } from '../lib/events.mjs';
import { MCP_PRUNER, treeOf } from '../lib/out-of-the-box.mjs';
import { SOURCE_PATH } from '../lib/project.mjs';

const shells = ['shell_command', 'shell', 'exec_command'];
const calls = { read: shellCall(shells, `cat ${SOURCE_PATH}`), log: shellCall(shells) };

/** The last version on chat completions, and the newest, which is on responses. */
const chat = { wire: 'chat', binary: '@openai/codex/vendor/x86_64-unknown-linux-musl/codex/codex' };
const responses = { wire: 'responses', binary: '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex' };

async function run(
  { folder, home, work, baseUrl, rpcUrl, apiKey, task, env, start },
  { wire, binary, socket = false },
  extra,
  mcp = false,
) {
  const config = join(home, '.codex');
  mkdirSync(config, { recursive: true });
  const lines = [
    'model = "scripted"',
    'model_provider = "scripted"',
    'check_for_update_on_startup = false',
    ...(wire === 'responses' ? reasoning : []),
    ...extra,
    '[analytics]',
    'enabled = false',
    '[model_providers.scripted]',
    'name = "scripted"',
    `base_url = "${baseUrl}"`,
    'env_key = "SCRIPTED_KEY"',
    `wire_api = "${wire}"`,
    ...(socket ? ['supports_websockets = true'] : []),
    ...(mcp && rpcUrl !== null ? ['[mcp_servers.pruner]', `url = "${rpcUrl}"`] : []),
    '',
  ];
  writeFileSync(join(config, 'config.toml'), lines.join('\n'));
  const cli = join(folder, 'node_modules', binary);
  const args = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', task];
  const result = await start(cli, args, { cwd: work, env: { ...env, CODEX_HOME: config, SCRIPTED_KEY: apiKey } });
  const messages = eventsIn(result.stdout).filter((event) => event.item?.type === 'agent_message');
  return { result, answer: messages.at(-1)?.item.text ?? null };
}

/** Nothing is set up: the agent is started by `mcp-pruner run codex`, which must leave nothing behind. */
async function runOutOfTheBox(session) {
  const { folder, home, work, bareUrl, rpcUrl, apiKey, task, env, start } = session;
  if (rpcUrl === null) return run(session, responses, uncut);
  const config = join(home, '.codex');
  mkdirSync(config, { recursive: true });
  const own = [
    'model = "scripted"',
    'check_for_update_on_startup = false',
    ...reasoning,
    ...uncut,
    '[analytics]',
    'enabled = false',
    '',
  ];
  const file = join(config, 'config.toml');
  writeFileSync(file, own.join('\n'));
  const binary = join(folder, 'node_modules', responses.binary);
  const before = treeOf(home, ['mcp-pruner']);
  const agent = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', task];
  const result = await start(process.execPath, [MCP_PRUNER, 'run', 'codex', '--proxy', bareUrl, '--', ...agent], {
    cwd: work,
    env: {
      ...env,
      PATH: `${dirname(binary)}:${env.PATH}`,
      CODEX_HOME: config,
      OPENAI_API_KEY: apiKey,
      CODEX_API_KEY: apiKey,
    },
  });
  const left = treeOf(home, ['mcp-pruner']).filter((path) => !before.includes(path));
  if (left.length > 0) throw new Error(`run left behind: ${left.join(', ')}`);
  if (readFileSync(file, 'utf8') !== own.join('\n')) throw new Error('run changed config.toml');
  const messages = eventsIn(result.stdout).filter((event) => event.item?.type === 'agent_message');
  return { result, answer: messages.at(-1)?.item.text ?? null };
}

// It cuts what a command says to 10,000 bytes for models that it does not know.
const uncut = ['tool_output_token_limit = 50000'];
// nor does it ask for reasoning
const reasoning = ['model_supports_reasoning_summaries = true', 'model_reasoning_effort = "medium"'];
const steps = ['read', 'log', 'answer'];
const withMcp = ['read', 'log', 'recover', 'answer'];

export const codexDrivers = [
  { name: 'codex', packages: 'codex', steps, calls, run: (session) => run(session, responses, uncut) },
  {
    name: 'codex-mcp',
    packages: 'codex',
    steps: withMcp,
    calls,
    run: (session) => run(session, responses, uncut, true),
  },
  {
    name: 'codex-socket',
    packages: 'codex',
    isChecked: true,
    steps,
    calls,
    run: (session) => run(session, { ...responses, socket: true }, uncut),
  },
  { name: 'codex-run', packages: 'codex', steps: withMcp, calls, run: runOutOfTheBox },
  { name: 'codex-chat', packages: 'codex-chat', steps, calls, run: (session) => run(session, chat, uncut) },
  {
    name: 'codex-chat-mcp',
    packages: 'codex-chat',
    steps: withMcp,
    calls,
    run: (session) => run(session, chat, uncut, true),
  },
  {
    name: 'codex-chat-default',
    packages: 'codex-chat',
    place: 'ends',
    steps,
    calls,
    run: (session) => run(session, chat, []),
  },
];
