// What keeping account adds to the CPU time of conversations: the build beside itself with no ledger told of anything.
// node bench/run.mjs ledger-cost [rounds] [turns] [same]: `same` compares the build with itself, which is the noise. Needs a build (npm run build), and Linux.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { median, quantile } from '../speed/load.ts';
import { conversation } from '../speed/payloads.ts';
import { type Stack, starters, startUpstream } from '../speed/stacks.ts';

const ROUNDS = Number(process.argv[2] ?? 40);
const TURNS = Number(process.argv[3] ?? 60);
const SAME = process.argv[4] === 'same';
/** Conversations that a process serves before it is measured. */
const WARM = 8;
const KEEPS = 'keepsLedger: true';

/** A copy of the build whose requests are told to no ledger. @returns its folder, as a checkout */
function withoutLedger(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'mcp-pruner-no-ledger-'));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  for (const name of ['node_modules', 'config', 'package.json']) symlinkSync(join(root, name), join(copy, name));
  const parts = readdirSync(join(copy, 'dist/parts')).filter((name) => name.endsWith('.js'));
  const found = parts.filter((name) => {
    const path = join(copy, 'dist/parts', name);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(KEEPS, 'keepsLedger: false'));
    return text.includes(KEEPS);
  });
  if (found.length !== 1) throw new Error(`${KEEPS} stands in ${found.length} files of the build, not in one`);
  return copy;
}

/** CPU time of all threads of a process, in milliseconds. */
function cpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const ns = readdirSync(tasks).map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]));
  return ns.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** Sends each turn to one after the other: what disturbs the machine disturbs all alike. */
async function serve(stacks: readonly Serving[], seed: number): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };
  for (const [turn, body] of conversation(TURNS, seed).entries()) {
    for (const { pool } of turn % 2 === 0 ? stacks : [...stacks].reverse()) {
      const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
    }
  }
}

interface Serving {
  readonly stack: Stack;
  readonly pool: Pool;
}

const root = process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();
const without = withoutLedger(root);
const upstream = await startUpstream({ root, peers: null, before: null });
const start = starters({ root, peers: null, before: without });
const stacks: Serving[] = [];
try {
  for (const name of SAME ? ['pruner', 'pruner'] : ['pruner', 'before']) {
    const stack = await start.get(name)?.(upstream.url);
    if (stack) stacks.push({ stack, pool: new Pool(stack.url, { connections: 1 }) });
  }
  for (let i = 0; i < WARM; i++) await serve(stacks, 200 + i);
  const spent: number[][] = stacks.map(() => []);
  let before = stacks.map(({ stack }) => cpuMs(stack.pid));
  for (let round = 0; round < ROUNDS; round++) {
    await serve(stacks, 1_000 + round);
    // what is written later counts to the round in which it is written
    const now = stacks.map(({ stack }) => cpuMs(stack.pid));
    now.forEach((ms, i) => {
      spent[i]?.push(ms - (before[i] ?? 0));
    });
    before = now;
  }
  const [kept = [], none = []] = spent;
  const ratios = kept.map((ms, i) => ms / (none[i] ?? Number.NaN));
  const sum = (list: readonly number[]): number => list.reduce((all, one) => all + one, 0);
  const spread = (list: readonly number[], digits: number): string =>
    `${median(list).toFixed(digits)} (${quantile(list, 0.25).toFixed(digits)}-${quantile(list, 0.75).toFixed(digits)})`;
  process.stdout.write(
    [
      `${ROUNDS} interleaved conversations of ${TURNS} turns, CPU time, medians (quartiles)`,
      `with its ledger      ${spread(kept, 0)} ms`,
      `told to no ledger    ${spread(none, 0)} ms`,
      `ratio of the rounds  ${spread(ratios, 3)}`,
      `ratio of the medians ${(median(kept) / median(none)).toFixed(3)}, of the sums ${(sum(kept) / sum(none)).toFixed(3)}`,
      '',
    ].join('\n'),
  );
} finally {
  for (const { pool } of stacks) await pool.close();
  for (const stack of [...stacks.map((one) => one.stack), upstream]) await stack.stop();
  rmSync(without, { recursive: true, force: true });
}
