import { setTimeout as pause } from 'node:timers/promises';
import { type Bench, note, type Section } from './figures.ts';
import { burst, median, quantile, warmUp } from './load.ts';
import { bodyOf, generator, largeBody, serviceLog, smallBody, toolTurn } from './payloads.ts';
import { rssMib, type Stack } from './stacks.ts';

/** Bounds of the 99th percentile at which the field reports requests a second, in milliseconds. */
const BOUNDS_MS = [5, 10, 50];
const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64];
/** Some 100,000 tokens: what LiteLLM's published load carries. */
const LONG_BYTES = 400_000;
const REST_MS = 60_000;

/** The next turns of a long conversation: each brings a result of 8 KB. */
function nextTurns(count: number, seed: number): Buffer[] {
  const { messages } = JSON.parse(largeBody(LONG_BYTES, seed).toString()) as { messages: [] };
  const random = generator(seed);
  const turn = (i: number) => {
    const content = serviceLog(8_000, random);
    return toolTurn({ id: `next_${i}`, name: 'bash', args: { command: `npm run check${i}` }, content });
  };
  const turns = Array.from({ length: count }, (_, i) => turn(i));
  return turns.map((_, i) => bodyOf([...messages, ...turns.slice(0, i + 1).flat()]));
}

/** The most requests a second at a bounded 99th percentile, over numbers of connections. */
async function boundedThroughput(bench: Bench, stack: Stack): Promise<void> {
  const most = new Map(BOUNDS_MS.map((bound) => [bound, 0]));
  for (const concurrency of CONNECTIONS) {
    const requests = (bench.quick ? 100 : 500) + concurrency * 10;
    const { requestsPerS, latenciesMs } = await burst(stack, { bodies: [smallBody()], requests, concurrency });
    const p99 = quantile(latenciesMs, 0.99);
    for (const bound of BOUNDS_MS) if (p99 <= bound) most.set(bound, Math.max(most.get(bound) ?? 0, requestsPerS));
  }
  for (const [bound, value] of most) note(bench, `field: 2 KB requests/s at p99 of ${bound} ms`, stack.name, value);
}

/** What the field measures: throughput at a bounded tail, a long turn, and the memory that load leaves behind. */
export const field: Section = {
  name: 'field',
  fresh: true,
  async run(bench) {
    const restMs = bench.quick ? 5_000 : REST_MS;
    for (const stack of bench.stacks)
      await warmUp(stack, smallBody, { requests: bench.quick ? 300 : 3_000, concurrency: 16 });
    const atRest = new Map(bench.stacks.map((stack) => [stack.name, rssMib(stack.pid)]));
    for (let round = 0; round < bench.rounds; round++) {
      const turns = nextTurns(bench.quick ? 6 : 20, 70_000 + round);
      for (const stack of bench.stacks) {
        await boundedThroughput(bench, stack);
        const { latenciesMs, cpuUs } = await burst(stack, { bodies: turns, requests: turns.length, concurrency: 1 });
        const known = latenciesMs.slice(1); // the first turn brings the whole conversation
        note(bench, 'field: a turn with 100,000 tokens, p50 ms', stack.name, median(known));
        note(bench, 'field: a turn with 100,000 tokens, p99 ms', stack.name, quantile(known, 0.99));
        note(bench, 'field: turns with 100,000 tokens a second and core', stack.name, 1e6 / cpuUs);
      }
    }
    const bodies = Array.from({ length: bench.quick ? 20 : 200 }, (_, i) => largeBody(200_000, 80_000 + i));
    for (const stack of bench.stacks) await burst(stack, { bodies, requests: bodies.length, concurrency: 8 });
    const loaded = new Map(bench.stacks.map((stack) => [stack.name, rssMib(stack.pid)]));
    await pause(restMs);
    for (const { name, pid } of bench.stacks) {
      const [before = 0, peak = 0] = [atRest.get(name), loaded.get(name)];
      note(bench, 'field: MiB above rest after load', name, peak - before);
      note(bench, 'field: MiB above rest a minute later', name, rssMib(pid) - before);
    }
  },
};
