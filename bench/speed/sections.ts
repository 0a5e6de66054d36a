import { Pool } from 'undici';
import { field } from './field.ts';
import { type Bench, note, type Section } from './figures.ts';
import { abortDelay, type Burst, burst, median, quantile, readStream, warmUp } from './load.ts';
import { conversation, goingOn, largeBody, newMb, plainBody, smallBody } from './payloads.ts';
import { rpc } from './rpc.ts';
import { cpuMs, rssMib, type Stack, storeBytes } from './stacks.ts';
import { costPerMb } from './yardsticks.ts';

/** A B C A B C …: what disturbs the machine disturbs all alike. */
async function interleaved(
  { rounds }: Pick<Bench, 'rounds'>,
  stacks: readonly Stack[],
  measure: (stack: Stack, round: number) => Promise<void>,
) {
  for (let round = 0; round < rounds; round++) {
    const shift = round % stacks.length;
    for (const stack of [...stacks.slice(shift), ...stacks.slice(0, shift)]) await measure(stack, round);
  }
}

function noteBurst(bench: Bench, prefix: string, stack: Stack, result: Burst): void {
  note(bench, `${prefix}: req/s`, stack.name, result.requestsPerS);
  note(bench, `${prefix}: p50 ms`, stack.name, median(result.latenciesMs));
  note(bench, `${prefix}: p99 ms`, stack.name, quantile(result.latenciesMs, 0.99));
  note(bench, `${prefix}: cpu µs/request`, stack.name, result.cpuUs);
}

const small: Section = {
  name: 'small',
  async run(bench) {
    const bodies = [smallBody()];
    const warm = { requests: bench.quick ? 400 : 6_000, concurrency: 64 };
    for (const stack of bench.stacks) await warmUp(stack, smallBody, warm);
    for (const concurrency of [1, 16, 64]) {
      const requests = (concurrency === 1 ? 300 : 1_500) / (bench.quick ? 3 : 1);
      // short and many: the machine's speed changes within seconds
      await interleaved({ rounds: bench.quick ? 1 : bench.rounds * 3 }, bench.stacks, async (stack) =>
        noteBurst(bench, `2 KB c${concurrency}`, stack, await burst(stack, { bodies, requests, concurrency })),
      );
    }
  },
};

const bodies: Section = {
  name: 'bodies',
  async run(bench) {
    for (const [size, bytes, requests] of [
      ['200 KB', 200_000, 100],
      ['2 MB', 2_000_000, 20],
    ] as const) {
      const count = bench.quick ? Math.ceil(requests / 4) : requests;
      const plain = plainBody(bytes);
      const seen = largeBody(bytes, 1);
      for (const stack of bench.quick ? [] : bench.stacks) {
        await warmUp(stack, () => plain, { requests: count * 2, concurrency: 8 });
        await warmUp(stack, () => seen, { requests: count * 2, concurrency: 8 });
        await warmUp(stack, (i) => largeBody(bytes, 900 + i), { requests: count, concurrency: 1 });
      }
      await interleaved(bench, bench.stacks, async (stack, round) => {
        const measure = async (what: string, bodies: readonly Buffer[], requests: number, concurrency: number) => {
          const result = await burst(stack, { bodies, requests, concurrency });
          noteBurst(bench, `${size} ${what}`, stack, result);
          return result;
        };
        await measure('nothing to prune', [plain], count, 1);
        await measure('nothing to prune c8', [plain], count * 2, 8);
        await burst(stack, { bodies: [seen], requests: 1, concurrency: 1 });
        await measure('seen before', [seen], count, 1);
        await measure('seen before c8', [seen], count * 2, 8);
        const fresh = Array.from({ length: Math.ceil(count / 5) }, (_, i) => largeBody(bytes, 1_000 * (round + 1) + i));
        const { forwarded } = await measure('all new', fresh, fresh.length, 1);
        note(bench, `${size} all new: share forwarded`, stack.name, forwarded);
      });
    }
  },
};

/** What a turn costs that brings next to nothing, by how much stands before it: the megabytes, and the CPU for one. */
async function historyCost(stack: Stack, bodies: readonly Buffer[]): Promise<{ mb: number; ms: number }> {
  const next = goingOn(bodies.at(-1) ?? Buffer.alloc(0), HISTORY_TURNS);
  const { cpuUs } = await burst(stack, { bodies: next, requests: next.length, concurrency: 1 });
  return { mb: (next[0]?.length ?? 0) / 1e6, ms: cpuUs / 1_000 };
}

const HISTORY_TURNS = 24;

const turns: Section = {
  name: 'conversation',
  fresh: true,
  async run(bench) {
    const count = bench.quick ? 20 : 60;
    // the first conversation of a process is compiled while it is served; it is told apart from the others
    for (const stack of bench.stacks) {
      const cpuBefore = cpuMs(stack.pid);
      await burst(stack, { bodies: conversation(count, 99), requests: count, concurrency: 1 });
      note(bench, 'conversation, the first of a process: cpu ms in all', stack.name, cpuMs(stack.pid) - cpuBefore);
      const more = bench.quick ? [] : Array.from({ length: 6 }, (_, i) => conversation(count, 200 + i)).flat();
      await warmUp(stack, (i) => more[i] ?? Buffer.alloc(0), { requests: more.length, concurrency: 1 });
    }
    const yardsticks = costPerMb(conversation(count, 100));
    note(bench, 'JSON.parse of a conversation: cpu ms/MB', 'direct', yardsticks.parseMs);
    note(bench, 'gzip -1 of its new content: cpu ms/MB', 'direct', yardsticks.gzipMs);
    await interleaved(bench, bench.stacks, async (stack, round) => {
      const growing = conversation(count, 100 + round);
      const headers = { 'x-conversation': `${stack.name}-${round}` };
      const cpuBefore = cpuMs(stack.pid);
      const result = await burst(stack, { bodies: growing, requests: growing.length, concurrency: 1, headers });
      const cpu = cpuMs(stack.pid) - cpuBefore;
      const carriedMb = growing.reduce((sum, body) => sum + body.length, 0) / 1e6;
      note(bench, 'conversation: cpu ms in all', stack.name, cpu);
      note(bench, 'conversation: cpu ms/MB carried', stack.name, cpu / carriedMb);
      note(bench, 'conversation: last turns p50 ms', stack.name, median(result.latenciesMs.slice(-10)));
      note(bench, 'conversation: turn p95 ms', stack.name, quantile(result.latenciesMs, 0.95));
      note(bench, 'conversation: share forwarded', stack.name, result.forwarded);
      note(bench, 'conversation: prefix kept, median', stack.name, median(result.prefixes));
      note(bench, 'conversation: prefix kept, worst', stack.name, Math.min(...result.prefixes));
      note(bench, 'conversation: cpu ms/MB of new content', stack.name, cpu / newMb(growing));
      const short = await historyCost(stack, growing.slice(0, Math.ceil(count / 10)));
      const long = await historyCost(stack, growing);
      note(bench, 'conversation: cpu ms/MB of old history', stack.name, (long.ms - short.ms) / (long.mb - short.mb));
    });
  },
};

/** Streams that a process serves before it is measured: about what it takes until its code is compiled. */
const WARM_STREAMS = 3_000;

const streams: Section = {
  name: 'sse',
  async run(bench) {
    const body = smallBody();
    for (const stack of bench.quick ? [] : bench.stacks) {
      const pool = new Pool(stack.url, { pipelining: 1 });
      for (let sent = 0; sent < WARM_STREAMS; sent += 250) {
        await Promise.all(Array.from({ length: 250 }, () => readStream(stack, pool, 20, 5, body)));
      }
      await pool.close();
    }
    await interleaved(bench, bench.stacks, async (stack) => {
      const pool = new Pool(stack.url, { pipelining: 1 });
      await readStream(stack, pool, 2, 1, body);
      const firsts: number[] = [];
      for (let i = 0; i < 20; i++) firsts.push((await readStream(stack, pool, 1, 1, body)).firstChunkMs);
      note(bench, 'sse: first chunk p50 ms', stack.name, median(firsts));
      const { delaysMs } = await readStream(stack, pool, bench.quick ? 50 : 200, 5, body);
      note(bench, 'sse: chunk delay p50 ms', stack.name, median(delaysMs));
      note(bench, 'sse: abort seen after ms', stack.name, await abortDelay(stack, bench.upstream, body));
      const count = bench.quick ? 100 : 500;
      const cpuBefore = cpuMs(stack.pid);
      const done = await Promise.all(Array.from({ length: count }, () => readStream(stack, pool, 20, 50, body)));
      const whole = done.filter(({ events }) => events === 20).length;
      note(bench, 'sse: streams that came whole, share', stack.name, whole / count);
      note(bench, 'sse: cpu µs/chunk', stack.name, ((cpuMs(stack.pid) - cpuBefore) * 1000) / (count * 20));
      await pool.close();
    });
  },
};

/** What a small request waits while large new texts are decided about. */
const stall: Section = {
  name: 'stall',
  async run(bench) {
    const bodies = [smallBody()];
    const shown = bench.stacks.filter(({ name }) => ['pruner', 'before', 'undici'].includes(name));
    await interleaved(bench, shown, async (stack, round) => {
      const rest = await burst(stack, { bodies, requests: 200, concurrency: 1 });
      note(bench, 'stall: small request at rest, p99 ms', stack.name, quantile(rest.latenciesMs, 0.99));
      const large = Array.from({ length: 8 }, (_, i) => largeBody(3_000_000, 90_000 + round * 8 + i));
      let deciding = true;
      const decided = burst(stack, { bodies: large, requests: large.length, concurrency: large.length }).finally(() => {
        deciding = false;
      });
      const latencies: number[] = [];
      while (deciding) {
        latencies.push(...(await burst(stack, { bodies, requests: 10, concurrency: 1 })).latenciesMs);
      }
      await decided;
      note(bench, 'stall: small request beside new texts, p99 ms', stack.name, quantile(latencies, 0.99));
    });
  },
};

const LARGE = 200_000;

/** Sends new bodies, numbers `[from, to)`, four at once. */
async function sendNew(stack: Stack, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i += 20) {
    const bodies = Array.from({ length: Math.min(20, to - i) }, (_, k) => largeBody(LARGE, 50_000 + i + k));
    await burst(stack, { bodies, requests: bodies.length, concurrency: 4 });
  }
}

const memory: Section = {
  name: 'memory',
  fresh: true,
  async run(bench) {
    const shown = bench.stacks.filter(({ name }) => name !== 'direct' && name !== 'nginx');
    for (const stack of shown) {
      await burst(stack, { bodies: [smallBody()], requests: bench.quick ? 1_000 : 10_000, concurrency: 32 });
      note(bench, 'memory: MiB after 10,000 small', stack.name, rssMib(stack.pid));
    }
    const requests = bench.quick ? 60 : 1_000;
    const lastQuarter = requests * 0.75;
    for (const stack of shown.filter(({ name }) => name !== 'llmtrim')) {
      const storedBefore = await storeBytes(stack);
      await sendNew(stack, 0, lastQuarter);
      const beforeMib = rssMib(stack.pid);
      await sendNew(stack, lastQuarter, requests);
      const afterMib = rssMib(stack.pid);
      const sentMib = ((requests - lastQuarter) * LARGE) / 2 ** 20;
      note(bench, 'memory: MiB after 1,000 x 200 KB', stack.name, afterMib);
      note(bench, 'memory: growth in the last quarter, share', stack.name, (afterMib - beforeMib) / sentMib);
      const stored = await storeBytes(stack);
      if (stored === null || storedBefore === null) continue;
      const share = (stored - storedBefore) / (requests * LARGE);
      note(bench, 'memory: stored bytes per byte that came', stack.name, share);
    }
  },
};

export const sections: readonly Section[] = [small, bodies, turns, stall, streams, rpc, field, memory];
