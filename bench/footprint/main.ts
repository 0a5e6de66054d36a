// What one developer on SQLite pays for what is there for a team: the same sources built with it and without it, servers of
// both started in turn. Needs a build:
//   npm run build && node bench/run.mjs footprint [--rounds 40] [--turns 40]
// Prints medians and their ratio; the exit code is 1 when one of them is above 1.02.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chat, chatBody, end, memoryOf, startServer, startUpstream } from '../soak/stage.ts';
import { build, bytesOf, isTeamsDeclaration } from './builds.ts';

const MOST = 1.02;
const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { rounds: { type: 'string', default: '40' }, turns: { type: 'string', default: '40' } },
});
const root = process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();

/** What was measured of one server. */
interface Sample {
  readonly startMs: number;
  /** Of the processor, up to listening. */
  readonly startCpuMs: number;
  readonly startMiB: number;
  readonly workedMiB: number;
}

/** Clock ticks of a process so far, user and system, in milliseconds. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function sample(folder: string, upstream: string, turns: number): Promise<Sample> {
  const home = mkdtempSync(join(tmpdir(), 'mcp-pruner-footprint-'));
  try {
    const beganMs = performance.now();
    const env = { MCP_PRUNER_DB_PATH: join(home, 'store.db'), MCP_PRUNER_UPSTREAM_URL: upstream };
    const server = await startServer(env, folder);
    const startMs = performance.now() - beganMs;
    const startCpuMs = cpuMs(server.child.pid ?? 0);
    await (await fetch(`${server.url}/health`)).text();
    const startMiB = memoryOf(server);
    for (let turn = 0; turn < turns; turn++) await chat(server.url, chatBody(turn));
    const workedMiB = memoryOf(server);
    await end(server, 'SIGKILL');
    return { startMs, startCpuMs, startMiB, workedMiB };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function median(sorted: readonly number[]): number {
  const mine = sorted.toSorted((a, b) => a - b);
  const middle = mine.length >> 1;
  return mine.length % 2 === 1 ? (mine[middle] ?? 0) : ((mine[middle - 1] ?? 0) + (mine[middle] ?? 0)) / 2;
}

/** Bytes that `npm install mcp-pruner` puts down beside `dist/`: the other packed files, and what is not bundled. */
function beside(): number {
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }),
  ) as readonly { readonly files: readonly { readonly path: string; readonly size: number }[] }[];
  const own = (packed[0]?.files ?? []).filter(({ path }) => !path.startsWith('dist/'));
  const listed = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { cwd: root, encoding: 'utf8' });
  const [, ...folders] = [...new Set(listed.trim().split('\n'))];
  return own.reduce((sum, { size }) => sum + size, 0) + folders.reduce((sum, folder) => sum + bytesOf(folder), 0);
}

const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-builds-'));
const upstream = await startUpstream((_, res) => res.end('{"choices":[]}'));
try {
  const folders: Record<'with' | 'without', string> = { with: join(folder, 'with'), without: join(folder, 'without') };
  for (const [name, path] of Object.entries(folders)) {
    mkdirSync(path);
    cpSync(join(root, 'package.json'), join(path, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
    await build(root, path, name === 'with');
  }
  const [withTeam, without] = [join(folders.with, 'dist'), join(folders.without, 'dist')];
  const others = beside();
  const sizes = {
    with: others + bytesOf(withTeam),
    without: others + bytesOf(without) - bytesOf(without, (path) => isTeamsDeclaration(without, path)),
  };
  const samples: Record<'with' | 'without', Sample[]> = { with: [], without: [] };
  for (let round = 0; round < Number(values.rounds); round++) {
    // each begins every other round
    const order = round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const);
    for (const name of order) samples[name].push(await sample(folders[name], upstream.url, Number(values.turns)));
  }
  const rows = (['startMs', 'startCpuMs', 'startMiB', 'workedMiB'] as const).map((what) => ({
    what,
    with: median(samples.with.map((one) => one[what])),
    without: median(samples.without.map((one) => one[what])),
  }));
  for (const row of [...rows, { what: 'installBytes', ...sizes }]) {
    const ratio = row.with / row.without;
    process.stdout.write(`${row.what}: ${round(row.with)} with, ${round(row.without)} without, ${ratio.toFixed(4)}\n`);
    if (ratio > MOST) process.exitCode = 1;
  }
} finally {
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
