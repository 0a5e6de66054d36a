import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, recoverCall, shellCall } from '../lib/calls.mjs';
import { eventsIn } from '../lib/events.mjs';
import { LOG_COMMAND, SOURCE_PATH } from '../lib/project.mjs';

/** Puts a program where PATH finds it. */
function command(bin, name, target) {
  mkdirSync(bin, { recursive: true });
  const path = join(bin, name);
  if (!/\.[cm]?js$/.test(target)) return symlinkSync(target, path);
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${target}" "$@"\n`);
  chmodSync(path, 0o755);
}

const vendor = 'vendor/x86_64-unknown-linux-musl';

/** What a user of this client has in the home folder before any of our commands runs; file name to text. */
const codexConfig = (provider) => [
  '# my own settings',
  'model = "scripted"',
  'check_for_update_on_startup = false',
  'tool_output_token_limit = 50000',
  ...provider,
  '[analytics]',
  'enabled = false',
  '',
];

function codexAnswer({ stdout }) {
  return eventsIn(stdout).findLast((event) => event.item?.type === 'agent_message')?.item.text ?? null;
}

const codexArgs = (task) => [
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

/** Takes back the longest cut of what the client's tool gave last. */
function recoverLastCall(tools, { messages }) {
  return recoverCall(tools, { messages: messages.filter(({ role }) => role === 'tool').slice(-1) });
}

/** The steps on chat completions: the client's own tools, and cuts taken back over MCP. */
const chatCalls = (read, log) => ({ read, log, recover: recoverCall, 'recover-log': recoverLastCall });
const chatSteps = ['read', 'recover', 'log', 'recover-log', 'answer'];

/** The steps elsewhere: the tools of the stdio server. */
export const FOCUSED = {
  read: { file_path: SOURCE_PATH, context_focus_question: 'Which grace factor does settleOverdueInvoice apply?' },
  log: {
    command: LOG_COMMAND,
    context_focus_question: 'Which error code stopped the settlement, and which release was loaded?',
  },
};

/**
 * Clients that take MCP servers over stdio.
 *
 * @typedef {{ name: string, packages: string, dialect: 'chat' | 'other', steps?: string[], calls?: object,
 *   program: (folder: string) => [string, string], files: (context: object) => Record<string, string>,
 *   env: (context: object) => Record<string, string>, args: (task: string, context: object) => string[],
 *   answer: (result: object) => string | null, first?: (turn: object) => object | null }} Setup
 * @type {Setup[]}
 */
export const setups = [
  {
    name: 'codex',
    packages: 'codex-current',
    dialect: 'other',
    program: (folder) => ['codex', join(folder, 'node_modules/@openai/codex-linux-x64', vendor, 'bin/codex')],
    files: ({ modelUrl }) => ({
      '.codex/config.toml': codexConfig([
        'model_provider = "scripted"',
        '[model_providers.scripted]',
        'name = "scripted"',
        `base_url = "${modelUrl}/v1"`,
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
      ]).join('\n'),
    }),
    env: () => ({}),
    args: codexArgs,
    answer: codexAnswer,
    // It does not wait for MCP servers with its first request.
    first: ({ tools }) =>
      tools.some(({ namespace }) => namespace === 'mcp__pruner')
        ? null
        : { name: 'exec_command', args: { cmd: 'sleep 1' } },
  },
  {
    name: 'claude',
    packages: 'claude',
    dialect: 'other',
    program: (folder) => ['claude', join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude')],
    files: () => ({ '.claude.json': '{\n  "hasCompletedOnboarding": true\n}\n' }),
    env: ({ modelUrl }) => ({
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'sk-scripted-0000',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    args: (task) => ['-p', task, '--output-format', 'json', '--allowedTools', 'mcp__pruner'],
    answer: (result) => jsonAnswer(result, (event) => event.result),
    // It shows only the names of MCP tools until the model has asked for them.
    first: ({ tools }) =>
      tools.some(({ name }) => name === 'mcp__pruner__read')
        ? null
        : {
            name: 'ToolSearch',
            args: { query: 'select:mcp__pruner__read,mcp__pruner__bash,mcp__pruner__recover_text', max_results: 5 },
          },
  },
  {
    name: 'codex-chat',
    packages: 'codex',
    dialect: 'chat',
    steps: chatSteps,
    calls: chatCalls(
      shellCall(['shell_command', 'shell', 'exec_command'], `cat ${SOURCE_PATH}`),
      shellCall(['shell_command', 'shell', 'exec_command']),
    ),
    program: (folder) => ['codex', join(folder, 'node_modules/@openai/codex', vendor, 'codex/codex')],
    files: () => ({ '.codex/config.toml': codexConfig([]).join('\n') }),
    env: () => ({}),
    args: codexArgs,
    answer: codexAnswer,
  },
  {
    name: 'qwen',
    packages: 'qwen',
    dialect: 'chat',
    steps: ['read', 'find-tool', ...chatSteps.slice(1)],
    calls: {
      ...chatCalls(readCall(['read_file']), shellCall(['run_shell_command'])),
      'find-tool': () => ({ name: 'tool_search', args: { query: 'select:mcp__pruner__recover_text' } }),
    },
    program: (folder) => ['qwen', join(folder, 'node_modules/@qwen-code/qwen-code/cli.js')],
    files: () => ({
      '.qwen/settings.json': JSON.stringify(
        {
          general: { disableAutoUpdate: true, disableUpdateNag: true },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
        },
        null,
        4,
      ),
    }),
    env: () => ({ OPENAI_MODEL: 'scripted' }),
    args: (task) => ['--yolo', '--output-format', 'json', '--model', 'scripted', task],
    answer: (result) => jsonAnswer(result, (events) => events.find((event) => event.type === 'result')?.result),
    withoutProxies: true,
  },
  {
    name: 'opencode',
    packages: 'opencode',
    dialect: 'chat',
    steps: chatSteps,
    calls: chatCalls(readCall(['read']), shellCall(['bash'])),
    program: (folder) => ['opencode', join(folder, 'node_modules/opencode-linux-x64/bin/opencode')],
    files: () => ({ '.config/opencode/opencode.json': '{\n  "autoupdate": false,\n  "share": "disabled"\n}\n' }),
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
    dialect: 'chat',
    steps: chatSteps,
    calls: chatCalls(readCall(['read']), shellCall(['bash'])),
    program: (folder) => ['kilo', join(folder, 'node_modules/@kilocode/cli-linux-x64/bin/kilo')],
    files: () => ({ '.config/kilo/kilo.json': '{ "autoupdate": false, "share": "disabled" }' }),
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
    args: (task) => ['run', '--format', 'json', task],
    answer: ({ stdout }) => eventsIn(stdout).findLast((event) => event.type === 'text')?.part?.text ?? null,
  },
  {
    name: 'cline',
    packages: 'cline',
    dialect: 'chat',
    steps: chatSteps,
    calls: chatCalls(readCall(['read_files', 'read_file']), shellCall(['run_commands', 'execute_command'])),
    program: (folder) => ['cline', join(folder, 'node_modules/@cline/cli-linux-x64/bin/cline')],
    files: () => ({
      '.cline/data/settings/providers.json': `${JSON.stringify(
        {
          version: 1,
          lastUsedProvider: 'openai-compatible',
          modes: {},
          providers: {
            'openai-compatible': {
              settings: {
                provider: 'openai-compatible',
                apiKey: 'sk-scripted-0000',
                model: 'x',
                baseUrl: 'http://x/v1',
              },
              updatedAt: '2026-01-01T00:00:00.000Z',
              tokenSource: 'manual',
            },
          },
        },
        null,
        2,
      )}\n`,
    }),
    env: () => ({
      CLINE_NO_AUTO_UPDATE: '1',
      CLINE_LOG_ENABLED: '0',
      CLINE_SESSION_BACKEND_MODE: 'local',
      CLINE_MESSAGE_BUILDER_MAX_TOOL_RESULT_CHARS: '100000',
    }),
    args: (task, { work }) => ['--json', '--cwd', work, '--compaction', 'off', '-m', 'scripted', task],
    answer: ({ stdout }) => eventsIn(stdout).findLast((event) => event.type === 'run_result')?.text ?? null,
  },
  {
    name: 'copilot',
    packages: 'copilot',
    dialect: 'chat',
    steps: chatSteps,
    calls: chatCalls(readCall(['view']), shellCall(['bash'])),
    program: (folder) => ['copilot', join(folder, 'node_modules/@github/copilot-linux-x64/copilot')],
    files: () => ({}),
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
];

export { command };
