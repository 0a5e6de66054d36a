import { existsSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addedMs, addedRatioOf, type Bench, type Figures, ratioOf } from './figures.ts';
import { verdicts } from './goals.ts';
import { median, quantile } from './load.ts';
import { sections } from './sections.ts';
import { type Stack, starters, startUpstream } from './stacks.ts';

const USAGE = `npm run bench -- speed [--quick] [--rounds 5] [--only small,bodies,conversation,stall,sse,rpc,field,memory,start]
                       [--stacks pruner,hpm,undici,collect,nginx,portkey,llmtrim] [--peers bench] [--before FOLDER] [--json result.json]
Needs a build (npm run build). --before is another checkout of this project, built. Peers are compared where they are installed (npm install --prefix bench).
`;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    stacks: { type: 'string' },
    peers: { type: 'string' },
    before: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The process that a ratio is taken against; the first that ran. */
const BASES = ['hpm', 'before', 'undici', 'collect', 'portkey', 'llmtrim', 'direct'];

async function main(): Promise<void> {
  const root = process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();
  if (!existsSync(join(root, 'dist/cli.js'))) throw new Error('dist/cli.js is missing: npm run build first');
  const peers = values.peers ?? join(root, 'bench');
  const places = { root, peers: existsSync(join(peers, 'node_modules')) ? peers : null, before: values.before ?? null };
  const upstream = await startUpstream(places);
  const wanted = values.stacks?.split(',');
  const can = [...starters(places)].filter(([name]) => wanted?.includes(name) ?? true);
  const only = values.only?.split(',');
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
  const figures: Figures = new Map();
  const stacks: Stack[] = [upstream];
  try {
    if (!only || only.includes('start')) await startTimes(can, upstream, rounds, figures);
    const bench: Bench = { stacks, upstream, rounds, quick: values.quick, figures };
    for (const section of sections) {
      if (only && !only.includes(section.name)) continue;
      const startedAt = performance.now();
      if (section.fresh) for (const stack of stacks.splice(1)) await stack.stop();
      if (stacks.length === 1) for (const [, start] of can) stacks.push(await start(upstream.url));
      await section.run(bench);
      process.stderr.write(`${section.name} done in ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
    }
  } finally {
    for (const stack of stacks) await stack.stop();
  }
  print(figures, rounds);
  printGoals(figures);
  if (values.json) writeFileSync(values.json, `${JSON.stringify(asJson(figures, rounds), null, 1)}\n`);
}

type Starters = readonly (readonly [string, (upstream: string) => Promise<Stack>])[];

async function startTimes(can: Starters, upstream: Stack, rounds: number, figures: Figures): Promise<void> {
  const byStack = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, start] of can) {
      const stack = await start(upstream.url);
      byStack.set(name, [...(byStack.get(name) ?? []), stack.startMs]);
      await stack.stop();
    }
  }
  figures.set('start to healthy: ms', byStack);
}

function print(figures: Figures, rounds: number): void {
  say(
    `medians of ${rounds} interleaved rounds (10th-90th percentile), and pruner over others (median of the rounds' ratios)`,
  );
  for (const [metric, byStack] of figures) {
    say(`\n${metric}`);
    const own = byStack.get('pruner');
    for (const [stack, list] of byStack) {
      const spread = `(${show(quantile(list, 0.1))}-${show(quantile(list, 0.9))})`;
      const ratio =
        own && stack !== 'pruner' ? `  pruner/${stack} ${show(ratioOf(figures, metric, 'pruner', stack))}` : '';
      say(`  ${stack.padEnd(8)} ${show(median(list)).padStart(10)} ${spread.padEnd(20)}${ratio}`);
    }
    added(figures, metric, byStack);
  }
}

function printGoals(figures: Figures): void {
  say('\ngoals: ratios that must be reached, and the best that seem possible');
  const before = new Map(verdicts(figures, 'before').map(({ what, value }) => [what, `before ${show(value)}`]));
  for (const { what, value, sign, must, stretch, reached } of verdicts(figures)) {
    const bounds = `must ${sign} ${must}, stretch ${stretch}`;
    const [now, then] = [show(value).padStart(7), (before.get(what) ?? '').padEnd(14)];
    say(`  ${what.padEnd(52)} ${now}   ${then} ${bounds.padEnd(28)} ${reached}`);
  }
}

/** A hop's latency is what it adds to a direct connection. */
function added(figures: Figures, metric: string, byStack: ReadonlyMap<string, unknown>): void {
  if (!byStack.has('direct') || !byStack.has('pruner') || !/p50 ms|first chunk|chunk delay/.test(metric)) return;
  const own = addedMs(figures, metric, 'pruner');
  const ratios = BASES.filter((base) => byStack.has(base) && base !== 'direct').map(
    (base) => `${base} ${show(addedRatioOf(figures, metric, 'pruner', base))}`,
  );
  say(`  added by the pruner: ${show(own)} ms; over what others add: ${ratios.join(', ')}`);
}

function show(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toPrecision(3);
}

function asJson(figures: Figures, rounds: number): object {
  const machine = { node: process.version, cores: cpus().length, cpu: cpus()[0]?.model ?? '' };
  const metrics = Object.fromEntries(
    [...figures].map(([metric, byStack]) => [
      metric,
      Object.fromEntries(
        [...byStack].map(([stack, list]) => [
          stack,
          { median: median(list), p10: quantile(list, 0.1), p90: quantile(list, 0.9), rounds: list },
        ]),
      ),
    ]),
  );
  return { at: new Date().toISOString(), machine, rounds, metrics, goals: verdicts(figures) };
}

if (values.help) say(USAGE);
else await main();
