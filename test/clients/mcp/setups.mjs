import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, recoverCall, shellCall } from '../lib/calls.mjs';
import { eventsIn } from '../lib/events.mjs';
import { SOURCE_PATH } from '../lib/project.mjs';

/** Puts a program where PATH finds it. */
function command(bin, name, target, node) {
  mkdirSync(bin, { recursive: true });
  const path = join(bin, name);
  if (!/\.[cm]?js$/.test(target)) return symlinkSync(target, path);
  writeFileSync(path, `#!/bin/sh\nexec "${node}" "${target}" "$@"\n`);
  chmodSync(path, 0o755);
}

const vendor = 'vendor/x86_64-unknown-linux-musl';

function codexAnswer({ stdout }) {
  return eventsIn(stdout).findLast((event) => event.item?.type === 'agent_message')?.item.text ?? null;
}

/** Without the limit it cuts what a command says to 10,000 bytes for models that it does not know. */
const codexSettings = ['tool_output_token_limit=50000', 'check_for_update_on_startup=false', 'analytics.enabled=false'];

const codexArgs = (task) => [
  ...['model="scripted"', ...codexSettings].flatMap((setting) => ['--config', setting]),
  'exec',
  '--json',
  '--skip-git-repo-check',
  '--dangerously-bypass-approvals-and-sandbox',
  task,
];

function jsonAnswer({ stdout }, find) {
  try {
    return find(JSON.parse(stdout)) ?? null;
  } catch {
    return null; // it ended before it could say anything
  }
}

/** The client's own tools, and cuts taken back over MCP. */
const callsWith = (read, log) => ({ read, log, recover: recoverCall });
const steps = ['read', 'log', 'recover', 'answer'];

/**
 * Clients that take MCP servers, each on a home that holds nothing yet.
 *
 * @typedef {{ name: string, packages: string, steps: string[], calls: object,
 *   program: (folder: string) => [string, string], files: (context: object) => Record<string, string>,
 *   env: (context: object) => Record<string, string>, args: (task: string, context: object) => string[],
 *   answer: (result: object) => string | null }} Setup
 * @type {Setup[]}
 */
export const setups = [
  {
    name: 'codex',
    packages: 'codex',
    steps,
    calls: callsWith(
      shellCall(['exec_command', 'shell_command', 'shell'], `cat ${SOURCE_PATH}`),
      shellCall(['exec_command', 'shell_command', 'shell']),
    ),
    program: (folder) => ['codex', join(folder, 'node_modules/@openai/codex-linux-x64', vendor, 'bin/codex')],
    env: () => ({}),
    args: codexArgs,
    answer: codexAnswer,
  },
  {
    name: 'claude',
    packages: 'claude',
    steps,
    calls: callsWith(readCall(['Read']), shellCall(['Bash'])),
    program: (folder) => ['claude', join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude')],
    env: () => ({
      ANTHROPIC_API_KEY: 'sk-scripted-0000',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    args: (task) => ['-p', task, '--output-format', 'json', '--allowedTools', 'Read,Bash,mcp__pruner'],
    answer: (result) => jsonAnswer(result, (event) => event.result),
  },
  {
    name: 'codex-chat',
    packages: 'codex-chat',
    steps,
    calls: callsWith(
      shellCall(['shell_command', 'shell', 'exec_command'], `cat ${SOURCE_PATH}`),
      shellCall(['shell_command', 'shell', 'exec_command']),
    ),
    program: (folder) => ['codex', join(folder, 'node_modules/@openai/codex', vendor, 'codex/codex')],
    env: () => ({}),
    args: codexArgs,
    answer: codexAnswer,
  },
  {
    name: 'qwen',
    packages: 'qwen',
    steps: ['read', 'find-tool', ...steps.slice(1)],
    calls: {
      ...callsWith(readCall(['read_file']), shellCall(['run_shell_command'])),
      'find-tool': () => ({ name: 'tool_search', args: { query: 'select:mcp__pruner__recover_text' } }),
    },
    program: (folder) => ['qwen', join(folder, 'node_modules/@qwen-code/qwen-code/cli.js')],
    env: () => ({ OPENAI_MODEL: 'scripted' }),
    args: (task) => ['--yolo', '--output-format', 'json', '--model', 'scripted', task],
    answer: (result) => jsonAnswer(result, (events) => events.find((event) => event.type === 'result')?.result),
    withoutProxies: true,
  },
  {
    name: 'opencode',
    packages: 'opencode',
    steps,
    calls: callsWith(readCall(['read']), shellCall(['bash'])),
    program: (folder) => ['opencode', join(folder, 'node_modules/opencode-linux-x64/bin/opencode')],
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    }),
    args: (task) => ['run', '--format', 'json', task],
    answer: ({ stdout }) => eventsIn(stdout).findLast((event) => event.type === 'text')?.part?.text ?? null,
  },
  {
    name: 'kilo',
    packages: 'kilo',
    steps,
    calls: callsWith(readCall(['read']), shellCall(['bash'])),
    program: (folder) => ['kilo', join(folder, 'node_modules/@kilocode/cli-linux-x64/bin/kilo')],
    env: () => ({
      KILO_DISABLE_AUTOUPDATE: '1',
      KILO_DISABLE_MODELS_FETCH: '1',
      KILO_DISABLE_LSP_DOWNLOAD: '1',
      KILO_DISABLE_DEFAULT_PLUGINS: '1',
      KILO_DISABLE_SESSION_INGEST: '1',
      KILO_DISABLE_PRESENCE: '1',
      KILO_DISABLE_CODEBASE_INDEXING: '1',
      KILO_NO_DAEMON: '1',
      KILO_TELEMETRY_LEVEL: 'off',
    }),
    args: (task) => ['run', '--auto', '--format', 'json', task],
    answer: ({ stdout }) => eventsIn(stdout).findLast((event) => event.type === 'text')?.part?.text ?? null,
  },
  {
    name: 'cline',
    packages: 'cline',
    steps,
    calls: callsWith(readCall(['read_files', 'read_file']), shellCall(['run_commands', 'execute_command'])),
    program: (folder) => ['cline', join(folder, 'node_modules/@cline/cli-linux-x64/bin/cline')],
    env: () => ({
      CLINE_NO_AUTO_UPDATE: '1',
      CLINE_LOG_ENABLED: '0',
      CLINE_MESSAGE_BUILDER_MAX_TOOL_RESULT_CHARS: '100000',
    }),
    args: (task, { work }) => ['--json', '--cwd', work, '--compaction', 'off', '-m', 'scripted', task],
    // What setup leaves to the user: a key, and that no daemon of an earlier run is asked.
    ownArgs: ['--key', 'sk-scripted-0000'],
    ownEnv: { CLINE_SESSION_BACKEND_MODE: 'local' },
    answer: ({ stdout }) => eventsIn(stdout).findLast((event) => event.type === 'run_result')?.text ?? null,
  },
  {
    name: 'copilot',
    packages: 'copilot',
    steps,
    calls: callsWith(readCall(['view']), shellCall(['bash'])),
    program: (folder) => ['copilot', join(folder, 'node_modules/@github/copilot-linux-x64/copilot')],
    env: () => ({ COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false' }),
    args: (task) => [
      ...['--prompt', task, '--silent', '--allow-all-tools', '--allow-all-paths', '--disable-client-telemetry'],
    ],
    answer: ({ stdout }) => stdout.trim().split('\n').at(-1) ?? null,
    // What no file can hold; as `setup` prints it.
    variables: ({ baseUrl }) => ({
      COPILOT_PROVIDER_BASE_URL: baseUrl,
      COPILOT_MODEL: 'scripted',
      COPILOT_PROVIDER_API_KEY: 'sk-scripted-0000',
    }),
  },
  {
    name: 'kimi',
    packages: 'kimi',
    steps,
    calls: callsWith(readCall(['Read', 'ReadFile']), shellCall(['Bash', 'Shell'])),
    program: (folder) => ['kimi', join(folder, 'node_modules/@moonshot-ai/kimi-code/dist/main.mjs')],
    env: () => ({ KIMI_CODE_NO_AUTO_UPDATE: '1' }),
    args: (task) => ['--prompt', task],
    answer: ({ stdout }) => /Result \w+: .*/.exec(stdout)?.[0] ?? null,
    variables: ({ baseUrl }) => ({
      KIMI_MODEL_NAME: 'scripted',
      KIMI_MODEL_PROVIDER_TYPE: 'openai',
      KIMI_MODEL_BASE_URL: baseUrl,
      KIMI_MODEL_API_KEY: 'sk-scripted-0000',
    }),
  },
  {
    name: 'gemini',
    packages: 'gemini',
    steps,
    calls: callsWith(readCall(['read_file']), shellCall(['run_shell_command'])),
    program: (folder) => ['gemini', join(folder, 'node_modules/@google/gemini-cli/bundle/gemini.js')],
    env: () => ({ GEMINI_API_KEY: 'sk-scripted-0000' }),
    args: (task) => [
      '--yolo',
      '--skip-trust',
      '--output-format',
      'json',
      '--model',
      'gemini-2.5-flash',
      '--prompt',
      task,
    ],
    answer: ({ stdout }) => jsonAnswer({ stdout: stdout.slice(stdout.indexOf('{')) }, ({ response }) => response),
    variables: ({ baseUrl }) => ({ GOOGLE_GEMINI_BASE_URL: new URL(baseUrl).origin }),
    withoutProxies: true,
  },
];

export { command };
