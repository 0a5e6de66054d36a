/**
 * What collecting a context costs: node bench/run.mjs gc-plan [--segments 1000000] [--runs 5] [--json]
 *
 * The plan over so many candidates against sorting all of them; the rating of as many segments; an analysis of a store
 * as full as it gets, from file to answer, with the longest time that it holds up other requests; and what taking down
 * a request costs the proxy. No text is loaded by any of them but the last.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import type { NotedSegment, SeenSegment, SegmentType } from '../../src/core/ports/segments.ts';
import { analyze } from '../../src/gc/analyze.ts';
import { byPruningOrder, planOf, type Rated } from '../../src/gc/plan.ts';
import { Recorder, readSegment } from '../../src/gc/recorder.ts';
import { type Candidate, type Roots, Sweep, type SweptSegment } from '../../src/gc/sweep.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';

const { values } = parseArgs({
  options: {
    segments: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});
const count = Number(values.segments);
const runs = Number(values.runs);
const STORED = 100_000;
const TYPES: readonly SegmentType[] = ['log', 'code', 'note', 'message', 'decision', 'summary'];
const AGE = { survived: 9, hours: 3 };
const NO_ROOTS: Roots = { newest: 6, ids: new Set(), mentions: new Uint32Array(), file: '', task: '' };

/** Numbers in [0, 1) that are the same in every run. */
function random(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39) + 0x9e3779b9;
    return ((state ^ (state >>> 15)) >>> 0) / 4_294_967_296;
  };
}

/** Milliseconds of CPU of the fastest run: what else the machine does only ever adds. */
function time(work: () => unknown, times = runs): number {
  const once = (): number => {
    const began = process.cpuUsage();
    work();
    return cpuMsSince(began);
  };
  once();
  return Math.min(...Array.from({ length: times }, once));
}

function cpuMsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

function candidates(): Rated[] {
  const next = random(7);
  return Array.from({ length: count }, (_, i) => ({
    id: `seg_${i}`,
    score: Math.round(next() * 10_000) / 10_000,
    tokens: 20 + Math.floor(next() ** 3 * 8_000),
  }));
}

/** A segment as it is noted, and as it comes back from the store. One literal: a copy by spreading is slower to read. */
function facts(i: number, next: () => number): NotedSegment & SweptSegment & { ordinal: number } {
  const key = () => 1 + Math.floor(next() * 50_000);
  return {
    id: `seg_${i}`,
    ordinal: i,
    role: 'tool',
    type: TYPES[i % TYPES.length] ?? 'log',
    effect: 'read',
    tokens: 100 + Math.floor(next() * 4_000),
    lines: 200,
    tool: 'read_file',
    path: `src/module-${i % 5_000}.ts`,
    startLine: 1,
    endLine: 200,
    callKey: key(),
    about: Uint32Array.from({ length: 12 }, key),
    mentions: Uint32Array.from({ length: 8 }, key),
    edited: i % 20 === 0 ? Uint32Array.of(key()) : new Uint32Array(),
    directed: null,
    task: '',
    pruneIds: [],
    erase: [],
  };
}

function plans(): Record<string, number> {
  const all = candidates();
  const total = all.reduce((sum, { tokens }) => sum + tokens, 0);
  const out: Record<string, number> = {};
  for (const [name, target] of [
    ['100 k tokens', 100_000],
    ['1 % of all', total / 100],
    ['half of all', total / 2],
  ] as const) {
    out[`plan for ${name}, ms`] = time(() => planOf(all.toSorted(byPruningOrder), target));
  }
  return out;
}

function sweeps(): Record<string, number> {
  const next = random(11);
  // made over and over from some, as a store hands them out and nobody keeps them
  const some = Array.from({ length: 10_000 }, (_, i) => facts(i, next));
  return {
    'rating all and a plan for 100 k tokens, ms': time(() => {
      const candidates: Candidate[] = [];
      const sweep = new Sweep(NO_ROOTS, count, (candidate) => candidates.push(candidate));
      for (let i = count - 1; i >= 0; i--) {
        const segment = some[i % some.length];
        if (segment === undefined) continue;
        segment.ordinal = i;
        sweep.feed(segment, AGE);
      }
      return planOf(candidates.sort(byPruningOrder), 100_000);
    }, 2),
  };
}

async function stored(folder: string): Promise<Record<string, number>> {
  const clock = { nowMs: () => 1_700_000_000_000 };
  const store = openSqliteStore({ path: join(folder, 'store.db'), clock, ttlMs: 1e9, maxBytes: 1e9, maxEvents: 10 });
  const next = random(13);
  for (let from = 0; from < STORED; from += 2_000) {
    const segments = Array.from({ length: 2_000 }, (_, i) => facts(from + i, next));
    const about = { project: 'p', task: 't', conversationId: `c${from % 20_000}`, messages: STORED, whole: false };
    await store.segments.note([{ ...about, turns: 1, atMs: clock.nowMs(), segments }]);
  }
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = process.cpuUsage();
  const roots = { ids: [], said: [], file: '' };
  const found = await analyze(store.segments, { project: 'p', target: 100_000, roots, described: [] }, clock.nowMs());
  const elapsed = cpuMsSince(began);
  delay.disable();
  await store.close();
  if (found.segments !== STORED) throw new Error(`${found.segments} of ${STORED} segments were looked at`);
  return {
    [`analysis of ${STORED} stored segments with a plan, ms`]: elapsed,
    'longest hold of the event loop meanwhile, ms by the clock': delay.max / 1e6,
  };
}

/** What a request of 100 new segments, each of 4 KB, costs once it is on its way; and one that brings nothing new. */
function noting(): Record<string, number> {
  const text = 'export function loadOrder(id: string): Promise<Order> { return database.query(id); }\n'.repeat(48);
  const segments = Array.from({ length: 100 }, (_, i): SeenSegment => {
    const { about: _a, mentions: _m, edited: _e, callKey: _c, task: _t, erase: _r, ...rest } = facts(i, random(17));
    return {
      ...rest,
      text,
      callId: `call_${i}`,
      callKey: `${i}`,
      wanted: rest.path,
      edited: [],
      exempt: false,
      hashes: [],
      copies: [],
    };
  });
  const store = { note: () => Promise.resolve() } as unknown as ConstructorParameters<typeof Recorder>[0]['store'];
  const recorder = new Recorder({ store, clock: { nowMs: () => 0 }, stashId: () => '', onFailure: () => {} });
  let round = 0;
  const note = (conversationId: string): void => {
    recorder.note({
      project: 'p',
      task: '',
      conversationId,
      messages: 100,
      whole: true,
      segments: segments.map(readSegment),
    });
  };
  note('known');
  const result = {
    'taking down 100 new segments of 4 KB, ms': time(() => note(`c${round++}`), 20),
    'taking down a request with nothing new in 100 segments, ms': time(() => note('known'), 20),
  };
  void recorder.flush();
  return result;
}

const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-gc-bench-'));
try {
  const figures: Record<string, number> = { ...plans(), ...sweeps(), ...(await stored(folder)), ...noting() };
  const lines = Object.entries(figures).map(([name, ms]) => `${name.padEnd(66)} ${ms.toFixed(2).padStart(10)}`);
  const head = `${count} segments; ms of CPU`;
  process.stdout.write(
    values.json ? `${JSON.stringify({ segments: count, ...figures }, null, 2)}\n` : `${head}\n${lines.join('\n')}\n`,
  );
  if ((figures['plan for 100 k tokens, ms'] ?? 0) > 1_000) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
