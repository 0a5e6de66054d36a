// How long the largest calls of the fleet hold the event loop: the CPU time of the longest turn while one is answered, by
// the clock of the server's main thread, so that other work on the machine does not count. Linux, and a build:
//   npm run build && npm run bench -- fleet-turns [--rounds 5]
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { end, type Server, startServer } from '../soak/stage.ts';
import { calls } from './calls.ts';

const TOKEN = 'a-token-of-the-bench';
const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { rounds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } },
});
const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-fleet-turns-'));
const file = join(folder, 'longest');

async function call({ url }: Server, name: string, args: object): Promise<{ readonly graph_id?: string }> {
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  const { result, error } = (await response.json()) as {
    readonly result?: { readonly content: readonly [{ readonly text: string }] };
    readonly error?: { readonly message: string };
  };
  if (!result) throw new Error(`${name}: ${JSON.stringify(error).slice(0, 500)}`);
  return JSON.parse(result.content[0].text);
}

async function toggle({ child }: Server): Promise<void> {
  child.kill('SIGUSR2');
  await pause(30);
}

async function longestTurn(server: Server, work: () => Promise<unknown>): Promise<number> {
  rmSync(file, { force: true });
  await toggle(server);
  await work();
  await toggle(server);
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await pause(5);
  return Number(readFileSync(file, 'utf8'));
}

const probe = join(process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd(), 'bench', 'fleet-turns', 'probe.mjs');
const server = await startServer({
  NODE_OPTIONS: `--import ${probe}`,
  BENCH_TURNS_FILE: file,
  MCP_PRUNER_ENABLE: 'fleet',
  MCP_PRUNER_AUTH_TOKEN: TOKEN,
  MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
  MCP_PRUNER_UPSTREAM_URL: 'http://127.0.0.1:9/v1',
});
try {
  process.stdout.write('longest turn, ms of CPU: median and worst of the rounds\n');
  for (const { what, prepare, name, args } of calls) {
    if (!what.includes(values.only)) continue;
    const turns: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const step of prepare?.(round) ?? []) await call(server, step.name, step.args);
      turns.push(await longestTurn(server, () => call(server, name, args(round))));
    }
    turns.sort((a, b) => a - b);
    const [median = 0, worst = 0] = [turns[turns.length >> 1], turns.at(-1)];
    process.stdout.write(`${what.padEnd(64)} ${median.toFixed(1).padStart(6)} ${worst.toFixed(1).padStart(6)}\n`);
  }
} finally {
  await end(server, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
