import { join } from 'node:path';
import { readCall, recoverCall, shellCall } from '../lib/calls.mjs';
import { setups } from '../mcp/setups.mjs';

const PLUGIN = 'mcp-pruner@mcp-pruner';
const KEY = 'sk-scripted-0000';
const SKILL = 'mcp-pruner:report';

/** The set-up of an agent that `mcp.mjs` has as well: its program, its tools and how its answer is read. */
const setupOf = (wanted) => setups.find(({ name }) => name === wanted);

/**
 * Agents that take a plugin or an extension from a local folder.
 *
 * `install` and `remove` are command lines; `settings` stand in the home before; `args` and `env` wire a task to the proxy, which
 * a plugin does not do by itself. `skill`
 * stands in a request when the skill is on offer.
 */
export const agents = [
  {
    ...setupOf('claude'),
    validate: (folder) => [
      ['plugin', 'validate', folder, '--strict'],
      ['plugin', 'validate', join(folder, 'plugins/mcp-pruner'), '--profile', 'directory'],
    ],
    install: (folder) => [
      ['plugin', 'marketplace', 'add', folder],
      ['plugin', 'install', PLUGIN],
    ],
    remove: [
      ['plugin', 'uninstall', PLUGIN],
      ['plugin', 'marketplace', 'remove', 'mcp-pruner'],
    ],
    args: (task) => [
      ...['-p', task, '--output-format', 'stream-json', '--verbose', '--include-hook-events'],
      ...['--allowedTools', 'Read,Bash,mcp__plugin_mcp-pruner_pruner'],
    ],
    env: (origin) => ({ ...setupOf('claude').env(), ANTHROPIC_BASE_URL: origin, ENABLE_TOOL_SEARCH: 'true' }),
    answer: ({ stdout }) => lastOf(stdout, ({ type }) => type === 'result')?.result ?? null,
    skill: SKILL,
  },
  {
    ...setupOf('codex'),
    validate: () => [],
    install: (folder) => [
      ['plugin', 'marketplace', 'add', folder],
      ['plugin', 'add', PLUGIN],
    ],
    remove: [
      ['plugin', 'remove', PLUGIN],
      ['plugin', 'marketplace', 'remove', 'mcp-pruner'],
    ],
    args: (task, origin) => {
      const provider = `model_providers.scripted={name="scripted",base_url="${origin}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
      // in its own window it asks the user whether it may run the hook
      const trusted = setupOf('codex').args(task).toSpliced(-1, 0, '--dangerously-bypass-hook-trust');
      return ['--config', 'model_provider="scripted"', '--config', provider, ...trusted];
    },
    env: () => ({ OPENAI_API_KEY: KEY }),
    skill: SKILL,
  },
  {
    name: 'gemini',
    packages: 'gemini',
    steps: ['read', 'log', 'recover', 'answer'],
    calls: { read: readCall(['read_file']), log: shellCall(['run_shell_command']), recover: recoverCall },
    program: (folder) => ['gemini', join(folder, 'node_modules/@google/gemini-cli/bundle/gemini.js')],
    settings: {
      '.gemini/settings.json': JSON.stringify({
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      }),
    },
    validate: (folder) => [['extensions', 'validate', folder]],
    install: (folder) => [['extensions', 'install', folder, '--consent']],
    remove: [['extensions', 'uninstall', 'mcp-pruner']],
    args: (task) => ['--yolo', '--output-format', 'json', '--model', 'gemini-2.5-flash', '--prompt', task],
    // it takes an HTTPS_PROXY for loopback as well
    env: (origin) => ({ GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: origin, HTTPS_PROXY: '', https_proxy: '' }),
    answer: ({ stdout }) => wholeJson(stdout)?.response ?? null,
  },
  {
    // the portable plugin: plugin.json and mcp.json in the root of the folder
    ...setupOf('copilot'),
    validate: () => [],
    install: (folder) => [['plugin', 'install', folder]],
    remove: [['plugin', 'uninstall', 'mcp-pruner']],
    args: (task) => setupOf('copilot').args(task),
    env: (origin) => ({ ...setupOf('copilot').env(), ...setupOf('copilot').variables({ baseUrl: `${origin}/v1` }) }),
    skill: '<name>report</name>',
  },
];

function lastOf(stdout, matches) {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .findLast(matches);
}

function wholeJson(stdout) {
  try {
    return JSON.parse(stdout.slice(stdout.indexOf('{')));
  } catch {
    return null; // it ended before it could say anything
  }
}
