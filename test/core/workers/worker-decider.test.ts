import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decide, decisionKey, type Job } from '../../../src/core/decide/decision.ts';
import { type Decider, MainThreadDecider } from '../../../src/core/decide/decision-maker.ts';
import type { TimeLimit } from '../../../src/core/decide/time-limits.ts';
import { WorkerDecider, type WorkerDeciderOptions } from '../../../src/core/decide/workers/worker-decider.ts';
import { textHash } from '../../../src/core/hash.ts';
import type { Decision } from '../../../src/core/ports.ts';
import { afterwards } from '../../helpers/afterwards.ts';
import { compiled } from '../../helpers/built.ts';
import { serverLog } from '../../helpers/texts.ts';

const PROGRAM = pathToFileURL(compiled('parts/decide-worker.js'));
const LARGE = serverLog(3_000);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-workers-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function program(source: string): URL {
  const file = join(folder, `${textHash(source)}.mjs`);
  writeFileSync(file, `import { parentPort } from 'node:worker_threads';\n${source}`);
  return pathToFileURL(file);
}

function jobOf(text: string): Job {
  const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
  const hints = { origin: 'command' } as const;
  return { text, textHash: textHash(text), goal: 'why do orders fail', hints, limits, tool: 'bash', caller: 'proxy' };
}

/** Counts what is decided on the main thread, whose current time slice is used up. */
class CountingDecider implements Decider {
  readonly jobs: Job[] = [];
  readonly #decider = new MainThreadDecider();

  async decide(...[job, ...rest]: Parameters<Decider['decide']>): Promise<Decision> {
    this.jobs.push(job);
    return this.#decider.decide(job, ...rest);
  }
}

function open(given: Partial<WorkerDeciderOptions> = {}) {
  const mainThread = new CountingDecider();
  const failures: string[] = [];
  const decider = new WorkerDecider({
    mainThread,
    largeChars: 10_000,
    maxMainThreadChars: 10_000,
    program: PROGRAM,
    onFailure: (reason) => failures.push(reason),
    ...given,
  });
  afterwards(() => decider.close());
  const ask = (text: string, limit: TimeLimit = { cpuMs: 60_000 }) => {
    const job = jobOf(text);
    return decider.decide(job, decisionKey(job), limit, null);
  };
  return { ask, mainThread, failures, decider };
}

describe('a large text', () => {
  it('is decided on another thread as it would be on this one, and other work continues', async () => {
    const { ask, mainThread } = open();
    let turns = 0;
    const counting = setInterval(() => turns++, 1);
    const made = await Promise.all([ask(LARGE), ask(`${LARGE}\n`), ask(LARGE)]);
    clearInterval(counting);
    const job = jobOf(LARGE);
    const expected = decide(job, decisionKey(job), () => false);
    expect(expected.cuts.length).toBeGreaterThan(0);
    expect(made[0]).toEqual(expected);
    expect(made[2]).toEqual(expected);
    expect(mainThread.jobs).toEqual([]);
    expect(turns).toBeGreaterThan(2);
  });

  it('stays whole if its caller’s time is over before its turn comes', async () => {
    const { ask } = open();
    expect(await ask(LARGE, { deadline: performance.now() })).toMatchObject({
      cuts: [],
      whole: 'timeout',
      warnings: ['timeout'],
    });
  });

  it('stays whole if it takes more CPU time than its limit', async () => {
    const { ask } = open();
    expect(await ask(LARGE, { cpuMs: 0 })).toMatchObject({ cuts: [], whole: 'timeout', warnings: ['timeout'] });
  });

  it.each([
    ['does not end', 'for (;;);', { cpuMs: 20 }],
    ['does not end, and its caller does not wait', 'for (;;);', { deadline: performance.now() + 50 }],
    ['does nothing', '', { cpuMs: 20 }],
  ])('stays whole if the thread %s', async (_name, work, limit) => {
    const { ask, mainThread, failures } = open({ program: program(`parentPort.on('message', () => { ${work} });`) });
    expect(await ask(LARGE, limit)).toMatchObject({ cuts: [], whole: 'timeout', warnings: ['timeout'] });
    expect([mainThread.jobs, failures]).toEqual([[], []]);
  });

  it('is decided on this thread if the other one dies, and no new thread is tried soon', async () => {
    const { ask, mainThread, failures } = open({
      program: program("parentPort.on('message', () => process.exit(1));"),
    });
    for (let i = 0; i < 5; i++) expect((await ask(LARGE)).cuts.length).toBeGreaterThan(0);
    expect(mainThread.jobs).toHaveLength(5);
    expect(failures).toEqual(['worker_ended', 'worker_ended', 'worker_ended']);
  });

  it('is decided on this thread if the other one fails, has no program, or has ended', async () => {
    const failing = open({
      program: program("parentPort.on('message', () => parentPort.postMessage({ decision: null }));"),
    });
    expect((await failing.ask(LARGE)).cuts.length).toBeGreaterThan(0);
    const missing = open({ program: pathToFileURL(join(folder, 'nowhere.js')) });
    expect((await missing.ask(LARGE)).cuts.length).toBeGreaterThan(0);
    const ended = open();
    await ended.decider.close();
    expect((await ended.ask(LARGE)).cuts.length).toBeGreaterThan(0);
    expect([failing, missing, ended].map(({ mainThread }) => mainThread.jobs.length)).toEqual([1, 1, 1]);
  });

  it('is decided on this thread if the server ends in the meantime', async () => {
    const { ask, mainThread, decider } = open({ program: program("parentPort.on('message', () => {});") });
    const waiting = [ask(LARGE), ask(LARGE)];
    await decider.close();
    for (const { cuts } of await Promise.all(waiting)) expect(cuts.length).toBeGreaterThan(0);
    expect(mainThread.jobs).toHaveLength(2);
  });
});

describe('small texts', () => {
  it('are decided on this thread', async () => {
    const { ask, mainThread } = open();
    for (let i = 0; i < 20; i++) await ask(serverLog(20, i));
    expect(mainThread.jobs).toHaveLength(20);
  });

  it('are decided on another thread if there are many at once', async () => {
    const { ask, mainThread } = open();
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(serverLog(20, i))));
    expect(made).toHaveLength(20);
    expect(mainThread.jobs.length).toBeGreaterThan(0);
    expect(mainThread.jobs.length).toBeLessThan(10);
  });
});
