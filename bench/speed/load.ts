import { Pool } from 'undici';
import { cpuMs, type Stack } from './stacks.ts';

/** What one burst of requests gave. */
export interface Burst {
  readonly requestsPerS: number;
  /** CPU time of the stack's process for one request, in microseconds. */
  readonly cpuUs: number;
  readonly latenciesMs: readonly number[];
  /** Bytes that reached the upstream, over bytes sent. */
  readonly forwarded: number;
  /** Share of the last forwarded request that this one began with, where the upstream was asked to look. */
  readonly prefixes: readonly number[];
}

export interface BurstOptions {
  readonly bodies: readonly Buffer[];
  readonly requests: number;
  readonly concurrency: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends bodies in turn over a fixed number of connections and waits for all answers. */
export async function burst(
  stack: Stack,
  { bodies, requests, concurrency, headers = {} }: BurstOptions,
): Promise<Burst> {
  const pool = new Pool(stack.url, { connections: concurrency, pipelining: 1 });
  const latenciesMs: number[] = [];
  const prefixes: number[] = [];
  let sent = 0;
  let received = 0;
  let bytes = 0;
  const all = { 'content-type': 'application/json', authorization: 'Bearer bench', ...stack.headers, ...headers };
  const worker = async (): Promise<void> => {
    while (sent < requests) {
      const body = bodies[sent++ % bodies.length] ?? Buffer.alloc(0);
      const startedAt = performance.now();
      const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers: all, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200)
        throw new Error(`${stack.name} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
      latenciesMs.push(performance.now() - startedAt);
      received += Number(answer.headers['x-received'] ?? 0);
      bytes += body.length;
      if (answer.headers['x-prefix'] !== undefined) prefixes.push(Number(answer.headers['x-prefix']));
    }
  };
  const cpuBefore = cpuMs(stack.pid);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  const elapsedMs = performance.now() - startedAt;
  const cpu = cpuMs(stack.pid) - cpuBefore;
  await pool.close();
  return {
    requestsPerS: (requests * 1000) / elapsedMs,
    cpuUs: (cpu * 1000) / requests,
    latenciesMs,
    forwarded: received / bytes,
    prefixes,
  };
}

export interface WarmUp {
  /** So many requests, if they do not take longer than this. */
  readonly requests: number;
  readonly ms?: number;
  readonly concurrency: number;
}

/** Lets a process see work of a kind before it is measured: it compiles what it runs while it runs it. */
export async function warmUp(
  stack: Stack,
  bodyFor: (i: number) => Buffer,
  { requests, ms = 8_000, concurrency }: WarmUp,
): Promise<void> {
  const until = performance.now() + ms;
  const step = concurrency * 10;
  for (let i = 0; i < requests && performance.now() < until; i += step) {
    const bodies = Array.from({ length: Math.min(step, requests - i) }, (_, k) => bodyFor(i + k));
    await burst(stack, { bodies, requests: bodies.length, concurrency });
  }
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** One stream of events, as a client sees it. */
export interface StreamSample {
  readonly firstChunkMs: number;
  /** How much later each event came than it was sent, in milliseconds. */
  readonly delaysMs: readonly number[];
  readonly events: number;
}

/** Reads one stream of a number of events, a gap apart. */
export async function readStream(
  stack: Stack,
  pool: Pool,
  events: number,
  gapMs: number,
  body: Buffer,
): Promise<StreamSample> {
  const startedAt = performance.now();
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer bench',
    'x-events': String(events),
    'x-gap-ms': String(gapMs),
    ...stack.headers,
  };
  const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body });
  let firstChunkMs = Number.NaN;
  const delaysMs: number[] = [];
  let rest = '';
  for await (const chunk of answer.body) {
    const now = process.hrtime.bigint();
    if (Number.isNaN(firstChunkMs)) firstChunkMs = performance.now() - startedAt;
    const lines = (rest + String(chunk)).split('\n\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const sentAt = /"sentAt":"(\d+)"/.exec(line)?.[1];
      if (sentAt) delaysMs.push(Number(now - BigInt(sentAt)) / 1e6);
    }
  }
  return { firstChunkMs, delaysMs, events: delaysMs.length };
}

/** Leaves a stream after its first chunk and asks the upstream when it saw that; `NaN` when it never did. */
export async function abortDelay(stack: Stack, upstream: Stack, body: Buffer): Promise<number> {
  const id = `${stack.name}-${process.hrtime.bigint()}`;
  const controller = new AbortController();
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer bench',
      'x-events': '500',
      'x-gap-ms': '10',
      'x-abort-report': id,
      ...stack.headers,
    },
    body: new Uint8Array(body),
    signal: controller.signal,
  });
  await answer.body?.getReader().read();
  const leftAt = process.hrtime.bigint();
  controller.abort();
  for (let tries = 0; tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const seen = await (await fetch(`${upstream.url}/aborted/${id}`)).text();
    if (seen !== '') return Number(BigInt(seen) - leftAt) / 1e6;
  }
  return Number.NaN;
}
