import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { eventsIn } from '../lib/events.mjs';

/** It cuts every tool result to 8,000 characters by itself, unless told otherwise. */
const UNCUT = { CLINE_MESSAGE_BUILDER_MAX_TOOL_RESULT_CHARS: '100000' };

const calls = { read: readCall(['read_files', 'read_file']), log: shellCall(['run_commands', 'execute_command']) };

async function run({ folder, home, work, baseUrl, rpcUrl, apiKey, task, env, start }, settings, mcp = false) {
  const cli = join(folder, 'node_modules/@cline/cli-linux-x64/bin/cline');
  const globals = join(home, 'cline-settings.json');
  writeFileSync(globals, JSON.stringify({ telemetryOptOut: true, autoUpdateEnabled: false }));
  const mcpServers = mcp && rpcUrl !== null ? { pruner: { type: 'streamableHttp', url: rpcUrl } } : {};
  const servers = join(home, 'cline-mcp.json');
  writeFileSync(servers, JSON.stringify({ mcpServers }));
  const own = {
    ...env,
    CLINE_GLOBAL_SETTINGS_PATH: globals,
    CLINE_MCP_SETTINGS_PATH: servers,
    CLINE_NO_AUTO_UPDATE: '1',
    CLINE_LOG_ENABLED: '0',
    // Otherwise a daemon on a fixed port stays and serves whoever comes next.
    CLINE_SESSION_BACKEND_MODE: 'local',
    ...settings,
  };
  const provider = ['-p', 'openai-compatible', '-k', apiKey, '-m', 'scripted', '-b', baseUrl];
  const login = await start(cli, ['auth', ...provider], { cwd: work, env: own });
  if (login.code !== 0) return { result: login, answer: null };
  const args = ['--json', '--cwd', work, '--compaction', 'off', '-P', 'openai-compatible', '-m', 'scripted', task];
  const result = await start(cli, args, { cwd: work, env: own });
  return { result, answer: eventsIn(result.stdout).findLast((event) => event.type === 'run_result')?.text ?? null };
}

export const clineDrivers = [
  { name: 'cline', packages: 'cline', steps: ['read', 'log', 'answer'], calls, run: (session) => run(session, UNCUT) },
  {
    name: 'cline-default',
    packages: 'cline',
    place: 'ends',
    steps: ['read', 'log', 'answer'],
    calls,
    run: (session) => run(session, {}),
  },
  {
    name: 'cline-mcp',
    packages: 'cline',
    steps: ['read', 'log', 'recover', 'answer'],
    calls,
    run: (session) => run(session, UNCUT, true),
  },
];
