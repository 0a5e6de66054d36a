import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ChildServer } from './fleet/child-server.mjs';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';

// The official MCP inspector, as a command, before the tools of the fleet over stdio and HTTP:
// node test/clients/inspector.mjs [--verbose]. The build in dist is what it looks at.

const say = (text) => process.stdout.write(`${text}\n`);
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const CLI = resolve(
  process.env.MCP_PRUNER_TEST_BUILD ?? fileURLToPath(new URL('../../dist', import.meta.url)),
  'cli.js',
);
const FAMILIES = /^(?:child|graph|tx|bb|stig|plan|op|cnp)_/;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
const TREE = {
  id: 't',
  root: { kind: 'task', node_id: 'n', tool: 'bb_set', input: { key: 'f:2', value: 'by a plan' } },
};

/** What is called, with what must stand in the answer. */
const CALLS = [
  ['bb_set', { key: 'f:1', value: '{"found":3}' }, '"version":1'],
  ['bb_get', { key: 'f:1' }, '"found"'],
  [
    'graph_mutate',
    { graph: '{"graph_id":"g","nodes":[],"edges":[]}', operations: '[{"op":"add_node","node":{"id":"a"}}]' },
    '"committed_version":1',
  ],
  ['stig_mark', { node_id: 'a', type: 'busy', intensity: '2' }, '"node_total"'],
  ['plan_run_bt', { tree: JSON.stringify(TREE) }, '"status":"success"'],
  ['child_list', {}, '"children":[]'],
  ['child_status', { child_id: 'nobody' }, 'E-CHILD-NOT-FOUND'],
];

async function inspect({ folder, node }, home, transport, target) {
  const failures = [];
  const cli = join(folder, 'node_modules/.bin/mcp-inspector');
  const env = { PATH: `${dirname(node)}:${process.env.PATH ?? ''}`, HOME: home, NO_COLOR: '1' };
  const ask = (...args) =>
    runProcess(cli, ['--cli', ...target.server, ...target.options, ...args], { cwd: home, env, timeoutMs: 60_000 });
  const listed = await ask('--method', 'tools/list', '--strict');
  if (listed.code !== 0) failures.push(`tools/list --strict: exit code ${listed.code}: ${listed.stderr.slice(-800)}`);
  const { tools = [] } = parsed(listed.stdout) ?? {};
  const fleet = tools.filter(({ name }) => FAMILIES.test(name));
  if (fleet.length !== 41) failures.push(`${fleet.length} of 41 tools are listed`);
  for (const { name, annotations = {} } of fleet)
    for (const hint of HINTS) if (typeof annotations[hint] !== 'boolean') failures.push(`${name} has no ${hint}`);
  for (const [name, args, expected] of CALLS) {
    const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]);
    const { stdout, stderr } = await ask('--method', 'tools/call', '--tool-name', name, ...pairs);
    const printed = (parsed(stdout)?.content?.[0]?.text ?? '') + stderr;
    if (!printed.includes(expected)) failures.push(`${name}: ${(stdout + stderr).slice(0, 400)}`);
  }
  say(`${failures.length === 0 ? 'ok    ' : 'FAILED'} ${transport}: ${tools.length} tools, ${CALLS.length} calls`);
  for (const failure of failures) say(`       ${failure}`);
  if (process.argv.includes('--verbose')) say(listed.stderr);
  if (failures.length > 0) process.exitCode = 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // told by what is missing in it
  }
}

async function main() {
  const installed = await install(cache, 'inspector');
  say(`MCP inspector ${installed.version}`);
  const home = mkdtempSync(join(tmpdir(), 'inspector-'));
  try {
    const server = await ChildServer.start({
      upstream: 'http://127.0.0.1:9',
      state: home,
      home,
      bin: home,
      work: home,
    });
    try {
      const options = ['--transport', 'http', '--header', `Authorization: Bearer ${server.token}`];
      await inspect(installed, home, 'HTTP', { options, server: [server.rpcUrl] });
    } finally {
      await server.close();
    }
    const variables = { HOME: home, MCP_PRUNER_DB_PATH: join(home, 'stdio.db') };
    const options = Object.entries(variables).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
    await inspect(installed, home, 'stdio', { options, server: [process.execPath, CLI, 'stdio', '--enable-fleet'] });
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

await main();
