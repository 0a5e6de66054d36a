import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { planPrune } from '../../src/engine/plan.ts';
import type { Hints, Plan, PruneInput } from '../../src/engine/types.ts';
import { KINDS, type Sample } from './texts.ts';

type Planner = (input: PruneInput) => Plan;

const GOAL =
  'why does the retry of order_payload time out? look at retryLimit in src/worker/queue.ts and the 502 response';
const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };

/** The engine of another commit, bundled from its sources. */
export async function engineOf(ref: string, root: string): Promise<Planner> {
  const folder = mkdtempSync(join(tmpdir(), 'engine-of-'));
  try {
    const archive = execFileSync('git', ['archive', ref, 'src/engine'], { cwd: root, maxBuffer: 64 << 20 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    const file = join(folder, 'engine.mjs');
    const bundle = await rolldown({ input: join(folder, 'src/engine/plan.ts'), platform: 'node', logLevel: 'silent' });
    await bundle.write({ file, format: 'esm', codeSplitting: false });
    await bundle.close();
    return ((await import(pathToFileURL(file).href)) as { planPrune: Planner }).planPrune;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function inputOf({ make, path, command }: Sample, bytes: number): PruneInput {
  const hints: Hints = {
    origin: command === undefined ? 'unknown' : 'command',
    ...(path === undefined ? {} : { path }),
    ...(command === undefined ? {} : { command }),
  };
  return { text: make(bytes), goal: GOAL, hints, limits: LIMITS };
}

/** Milliseconds of CPU for so many plans of each, one after the other by turns. */
function byTurns(planners: readonly [Planner, Planner], inputs: readonly PruneInput[], rounds: number): number[][] {
  const spent: number[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const turn of [0, 1]) {
      const which = (round + turn) % 2;
      const began = process.cpuUsage();
      for (const input of inputs) planners[which]?.(input);
      const { user, system } = process.cpuUsage(began);
      spent[which]?.push((user + system) / 1000);
    }
  }
  return spent;
}

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN;

/** Compares the cost of both engines, kind by kind and size by size, in one process by turns; prints milliseconds per MB. */
export function compareSpeed(
  before: Planner,
  kinds: readonly Sample[],
  rounds: number,
  out: (line: string) => void,
): void {
  const planners = [before, planPrune] as const;
  for (const sample of KINDS) byTurns(planners, [inputOf(sample, 50_000)], 6); // warm
  const ratios: number[] = [];
  out(
    `${'ms of CPU per MB'.padEnd(20)} ${['8 kB', '100 kB', '1 MB'].map((size) => `${size} before   now ratio`.padStart(30)).join('')}`,
  );
  for (const sample of kinds) {
    const cells = [8_000, 100_000, 1_000_000].map((bytes) => {
      const inputs = Array.from({ length: Math.max(1, Math.round(400_000 / bytes)) }, () => inputOf(sample, bytes));
      const total = inputs.reduce((sum, { text }) => sum + text.length, 0) / 1e6;
      byTurns(planners, inputs, 2);
      const [old = 0, now = 0] = byTurns(planners, inputs, rounds).map((list) => median(list) / total);
      ratios.push(now / old);
      return `${old.toFixed(1).padStart(16)}${now.toFixed(1).padStart(8)}${(now / old).toFixed(2).padStart(6)}`;
    });
    out(`${sample.name.padEnd(20)} ${cells.join('')}`);
  }
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  out(`geometric mean of the ratios ${mean.toFixed(3)}, worst ${Math.max(...ratios).toFixed(2)}`);
}

const MOST_BYTES = 300_000;

/** Compares the plans of both engines over the files below a folder; prints the files whose plans differ. */
export function comparePlans(before: Planner, folder: string, out: (line: string) => void): number {
  let compared = 0;
  let differing = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (!statSync(path).isFile()) continue;
    const text = readFileSync(path, 'utf8').slice(0, MOST_BYTES);
    const goal = text.slice(text.length >> 1, (text.length >> 1) + 120);
    const variants: Partial<PruneInput>[] = [
      { hints: { origin: 'read', path } },
      { hints: { origin: 'command', command: 'cat x' } },
      { sourceType: 'logs', hints: { origin: 'unknown' } },
    ];
    for (const [k, variant] of variants.entries()) {
      const input: PruneInput = {
        text,
        goal,
        limits: { maxPruneRatio: k === 1 ? 0.7 : 0.9, minKeepLines: 5 },
        ...variant,
      };
      compared++;
      const [one, other] = [JSON.stringify(before(input)), JSON.stringify(planPrune(input))];
      if (one === other) continue;
      differing++;
      if (differing <= 20) out(`${name} (${k})\n  ${one.slice(0, 160)}\n  ${other.slice(0, 160)}`);
    }
  }
  out(`${differing} of ${compared} plans differ`);
  return differing;
}
