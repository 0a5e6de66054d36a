import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Case, KINDS, makeCase } from './cases.ts';
import { Ground } from './ground.ts';
import { caseSeed } from './random.ts';
import { type Failure, runCase } from './run-case.ts';
import { shrink } from './shrink.ts';

const USAGE = `npm run fuzz -- [--cases 100000] [--seconds 600] [--seed N] [--jobs 2] [--kind ${KINDS.join('|')}]
                [--case N] [--replay file] [--out folder]

Searches for inputs that break a promise. Each case follows from the seed and its number: --seed S --case N repeats one.
What fails is shrunk and written to a file, which --replay runs again. Ends with 1 when something was found.
`;

interface Share {
  readonly seed: number;
  readonly from: number;
  readonly step: number;
  readonly cases: number;
  /** Longest time to run, in milliseconds. */
  readonly forMs: number;
  readonly kind?: Case['kind'];
}

interface Found extends Failure {
  readonly index: number;
  readonly case: Case;
  readonly first: Case;
}

type Message = { readonly done: Readonly<Record<string, number>>; readonly found: readonly Found[] };

/** Kinds of failure that are shrunk and told; more of the same are only counted. */
const MAX_REPORTED = 12;

/** Runs every `step`-th case; `report` hears of progress about twice a second. */
async function work(
  { seed, from, step, cases, forMs, kind }: Share,
  report: (message: Message) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-fuzz-'));
  const ground = new Ground(folder);
  const until = performance.now() + forMs;
  const reported = new Set<string>();
  let done: Record<string, number> = {};
  let heard = performance.now();
  for (let index = from; index < cases && performance.now() < until; index += step) {
    const given = makeCase(caseSeed(seed, index), kind);
    const failure = await runCase(given, ground);
    done[given.kind] = (done[given.kind] ?? 0) + 1;
    if (failure && !reported.has(failure.rule) && reported.size < MAX_REPORTED) {
      reported.add(failure.rule);
      report({ done: {}, found: [await smallest(given, failure, index, folder)] });
    } else if (failure) done.failed = (done.failed ?? 0) + 1;
    if (performance.now() - heard > 500) {
      report({ done, found: [] });
      done = {};
      heard = performance.now();
    }
  }
  report({ done, found: [] });
  await ground.close();
  rmSync(folder, { recursive: true, force: true });
}

async function smallest(given: Case, failure: Failure, index: number, folder: string): Promise<Found> {
  const ground = new Ground(folder, 1);
  const found = await shrink(given, async (candidate) => (await runCase(candidate, ground))?.rule === failure.rule);
  const last = (await runCase(found, ground)) ?? failure;
  await ground.close();
  return { ...last, index, case: found, first: given };
}

async function lead(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '600' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
      jobs: { type: 'string', default: String(Math.min(2, availableParallelism())) },
      kind: { type: 'string' },
      case: { type: 'string' },
      replay: { type: 'string' },
      help: { type: 'boolean', default: false },
      out: { type: 'string', default: join(process.cwd(), 'node_modules', '.cache', 'mcp-pruner-fuzz') },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (values.replay !== undefined) return replay(values.replay);
  const kind = KINDS.find((name) => name === values.kind);
  const seed = Number(values.seed) >>> 0;
  const single = values.case === undefined ? null : Number(values.case);
  const jobs = single === null ? Math.max(1, Number(values.jobs)) : 1;
  const share = (job: number): Share => ({
    seed,
    from: single ?? job,
    step: jobs,
    cases: single === null ? Number(values.cases) : single + 1,
    forMs: Number(values.seconds) * 1_000,
    ...(kind && { kind }),
  });
  const began = performance.now();
  const done: Record<string, number> = {};
  const rules = new Set<string>();
  let shown = began;
  process.stdout.write(`seed ${seed}\n`);
  const hear = (message: Message): void => {
    for (const [name, count] of Object.entries(message.done)) done[name] = (done[name] ?? 0) + count;
    for (const found of message.found) {
      if (rules.has(found.rule)) continue;
      rules.add(found.rule);
      report(found, seed, values.out);
    }
    if (performance.now() - shown < 15_000) return;
    shown = performance.now();
    process.stdout.write(`${summary(done, began)}\n`);
  };
  await Promise.all(Array.from({ length: jobs }, (_, job) => workIn(share(job), hear)));
  process.stdout.write(`${summary(done, began)}\n`);
  process.stdout.write(rules.size === 0 ? 'nothing found\n' : `broken: ${[...rules].join('; ')}\n`);
  return rules.size === 0 ? 0 : 1;
}

/** Runs a share in a thread of its own: the bundle is its own worker. */
function workIn(share: Share, hear: (message: Message) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.on('message', hear);
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });
}

function report(found: Found, seed: number, out: string): void {
  mkdirSync(out, { recursive: true });
  const file = join(out, `${found.rule.replaceAll(/[^a-z0-9]+/gi, '-')}-${seed}-${found.index}.json`);
  writeFileSync(file, `${JSON.stringify({ seed, ...found }, null, 1)}\n`);
  process.stdout.write(
    `BROKEN ${found.message.slice(0, 600)}\n  --seed ${seed} --case ${found.index}, shrunk: ${file}\n`,
  );
}

function summary(done: Readonly<Record<string, number>>, began: number): string {
  const seconds = (performance.now() - began) / 1_000;
  const { failed = 0, ...kinds } = done;
  const cases = Object.values(kinds).reduce((sum, count) => sum + count, 0);
  const each = Object.entries(kinds).map(([name, count]) => `${name} ${count}`);
  const failures = failed > 0 ? `, ${failed} more failures` : '';
  return `${cases} cases (${each.join(', ')}) in ${seconds.toFixed(0)} s: ${Math.round((cases / seconds) * 60)} a minute${failures}`;
}

async function replay(file: string): Promise<number> {
  const { case: given } = JSON.parse(readFileSync(file, 'utf8')) as Found;
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-fuzz-'));
  const ground = new Ground(folder, 1);
  const failure = await runCase(given, ground);
  await ground.close();
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(failure ? `BROKEN ${failure.message}\n` : 'nothing found\n');
  return failure ? 1 : 0;
}

if (isMainThread) process.exitCode = await lead();
else await work(workerData as Share, (message) => parentPort?.postMessage(message));
