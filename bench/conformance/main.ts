import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { databaseAt } from './database.ts';
import { failingLines, faultLines, planLines } from './report.ts';
import { isBroken, type OpenTarget, runPlan, runSeeds } from './run.ts';
import { ForeignTarget, OwnTarget } from './target.ts';
import type { Plan, Wire } from './types.ts';

const OWN_PROGRAM = join(process.env.MCP_PRUNER_BENCH_ROOT ?? '.', 'dist', 'cli.js');
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    sessions: { type: 'string', default: '200' },
    turns: { type: 'string', default: '40' },
    agents: { type: 'string', default: '20' },
    program: { type: 'string', default: OWN_PROGRAM },
    'other-program': { type: 'string' },
    processes: { type: 'boolean', default: false },
    'base-url': { type: 'string' },
    header: { type: 'string', multiple: true, default: [] },
    wire: { type: 'string', multiple: true },
    plain: { type: 'boolean', default: false },
    'upstream-port': { type: 'string', default: '0' },
    'database-url': { type: 'string' },
    plan: { type: 'string' },
    only: { type: 'string' },
    seams: { type: 'boolean', default: false },
    'shrink-seconds': { type: 'string', default: '60' },
    // no further plan begins after this time
    seconds: { type: 'string', default: 'Infinity' },
  },
});

const port = Number(values['upstream-port']);
const baseUrl = values['base-url'];
const headers = Object.fromEntries(values.header.map((header) => header.split(/:\s*(.*)/s).slice(0, 2)));
const open: OpenTarget = async (upstream) => {
  if (baseUrl !== undefined) return new ForeignTarget(baseUrl, headers);
  const url = values['database-url'];
  const database = url === undefined ? null : databaseAt(url);
  const other = values['other-program'];
  const programs: [string, ...string[]] = [values.program, ...(other === undefined ? [] : [other])];
  await database?.empty();
  const onlyProcesses = values.processes || values.program !== OWN_PROGRAM;
  return new OwnTarget({ programs, upstream: upstream.origin, database, onlyProcesses });
};

function print(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

const startedAt = performance.now();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
if (values.plan !== undefined) {
  const plan = JSON.parse(readFileSync(values.plan, 'utf8')) as Plan;
  const outcome = await runPlan(plan, open, port);
  print(JSON.stringify({ ...outcome, breaks: outcome.breaks.length }));
  print(...faultLines(outcome));
  process.exitCode = isBroken(outcome) ? 1 : 0;
} else {
  const counts = { agents: Number(values.agents), turns: Number(values.turns), sessions: Number(values.sessions) };
  const totals = await runSeeds({
    ...counts,
    seed: Number(values.seed),
    only: values.only,
    isPlain: values.plain,
    seams: values.seams,
    wires: values.wire as Wire[] | undefined,
    hasControl: baseUrl === undefined,
    untilMs: startedAt + 1000 * Number(values.seconds),
    open,
    port,
    onPlan: (plan, outcome) => print(...planLines(plan, outcome)),
  });
  const { failing, ...sums } = totals;
  const breaks = failing.reduce((sum, { outcome }) => sum + outcome.breaks.length, 0);
  print(
    JSON.stringify({
      ...sums,
      breaks,
      failingSeeds: failing.map(({ plan }) => plan.seed),
      seconds: Math.round((performance.now() - startedAt) / 1000),
    }),
  );
  const [first] = failing;
  const shrinkMs = 1000 * Number(values['shrink-seconds']);
  if (first !== undefined && shrinkMs > 0) print(...(await failingLines(first.plan, open, shrinkMs, port)));
  process.exitCode = failing.length > 0 ? 1 : 0;
}
