/**
 * How long the engine takes, kind by kind: node bench/run.mjs engine-speed [--runs 7] [--only <name>] [--large] [--json]
 *
 * Median milliseconds of CPU for 100 kB of each kind; how the cost per byte grows up to 10 MB; and adversarial inputs as a
 * multiple of the normal cost per byte (the median of the kinds at 1 MB), with --large at 10 MB too.
 *
 * node bench/run.mjs engine-speed --against <git ref> [--only <name>] [--files <folder>]: both engines by turns in one
 * process, kind by kind; with --files also whether they plan alike for every file below a folder.
 */
import { parseArgs } from 'node:util';
import { planPrune } from '../../src/engine/plan.ts';
import type { Hints } from '../../src/engine/types.ts';
import { comparePlans, compareSpeed, engineOf } from './against.ts';
import { ADVERSARIAL, KINDS, type Sample } from './texts.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
    large: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    against: { type: 'string' },
    files: { type: 'string' },
  },
});
const runs = Number(values.runs);
const GOAL =
  'why does the retry of order_payload time out? look at retryLimit in src/worker/queue.ts and the 502 response';
const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
}

/** Median milliseconds of CPU for a text of this size: others may be busy on the machine. */
function time(sample: Sample, bytes: number, times: number): number {
  const text = sample.make(bytes);
  const hints: Hints = {
    origin: sample.command === undefined ? 'unknown' : 'command',
    ...(sample.path === undefined ? {} : { path: sample.path }),
    ...(sample.command === undefined ? {} : { command: sample.command }),
  };
  const run = (): number => {
    const began = process.cpuUsage();
    planPrune({ text, goal: GOAL, hints, limits: LIMITS });
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
  if (times > 1) run();
  return median(Array.from({ length: times }, run));
}

if (values.against !== undefined) {
  const before = await engineOf(values.against, process.env.MCP_PRUNER_BENCH_ROOT ?? '.');
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const only = KINDS.filter(({ name }) => name.includes(values.only));
  if (values.files === undefined) compareSpeed(before, only, runs, print);
  else if (comparePlans(before, values.files, print) > 0) process.exitCode = 1;
  process.exit();
}

const wanted = (list: readonly Sample[]): Sample[] => list.filter(({ name }) => name.includes(values.only));
const SMALL = 100_000;
const LARGE = 10_000_000;
for (const sample of KINDS) time(sample, 20_000, 3); // so that the first kind does not pay for the compiler

const out = (line: string): boolean => process.stdout.write(`${line}\n`);
const say = (line: string): boolean => values.json || out(line);
const kinds = wanted(KINDS).map((sample) => {
  const small = time(sample, SMALL, runs);
  const middle = time(sample, 1_000_000, 3);
  const large = time(sample, LARGE, 1);
  const growth = large / small / (LARGE / SMALL);
  say(
    `${sample.name.padEnd(28)} 100 kB ${small.toFixed(1).padStart(7)} ms   1 MB ${middle.toFixed(0).padStart(5)} ms   ` +
      `10 MB ${large.toFixed(0).padStart(6)} ms   10 MB per byte ÷ 100 kB per byte ${growth.toFixed(2)}`,
  );
  return { name: sample.name, small, middle, large, growth };
});
const normal = median(
  (kinds.length > 0 ? kinds : [{ middle: time(KINDS[0] as Sample, 1_000_000, 3) }]).map((k) => k.middle),
);
say(`\nnormal cost: ${normal.toFixed(0)} ms per MB (median of the kinds at 1 MB)\n`);
const adversarial = wanted(ADVERSARIAL).map((sample) => {
  const ms = time(sample, 1_000_000, 3);
  const large = values.large ? time(sample, LARGE, 1) : null;
  const worst = Math.max(ms / normal, (large ?? 0) / normal / 10);
  const atLarge =
    large === null ? '' : `   10 MB ${large.toFixed(0).padStart(7)} ms = ${(large / normal / 10).toFixed(2)} × normal`;
  say(
    `${sample.name.padEnd(28)} 1 MB ${ms.toFixed(0).padStart(6)} ms = ${(ms / normal).toFixed(2)} × normal${atLarge}` +
      `${worst > 4 ? '   TOO SLOW' : ''}`,
  );
  return { name: sample.name, ms, large, worst };
});
const slow = kinds.filter((kind) => kind.small > 25);
const bent = kinds.filter((kind) => kind.growth > 2);
const hurt = adversarial.filter((sample) => sample.worst > 4);
const list = (found: readonly { name: string }[]): string => found.map(({ name }) => name).join(', ') || 'none';
say(`\nover 25 ms for 100 kB: ${list(slow)}; not linear: ${list(bent)}; over 4 × normal: ${list(hurt)}`);
if (values.json) out(JSON.stringify({ normalMsPerMb: normal, kinds, adversarial }, null, 2));
if (slow.length + bent.length + hurt.length > 0) process.exitCode = 1;
