// What a flood of requests leaves in the memory of a server, and whether it goes on growing. Linux; needs a build:
//   npm run build && npm run bench -- memory [--flood bodies|messages] [--requests 5000] [--connections 4] [--heap 256] [--stacks pruner,hpm]
// `bodies`: fresh bodies of 200 KB, all of them new. `messages`: fresh conversations of 19,000 tiny messages. The stacks get
// the same requests one after the other. `--heap` is the heap limit of mcp-pruner in MB. LD_PRELOAD is handed on to it, to try
// another allocator. Exit code 1: the process ended, grew in the last half by more than 5 %, or needs more than 2.5 times as
// much memory as http-proxy-middleware.
import { parseArgs } from 'node:util';
import { burst, median } from '../speed/load.ts';
import { bodyOf, largeBody } from '../speed/payloads.ts';
import { cpuMs, rssMib, type Stack, starters, startUpstream } from '../speed/stacks.ts';

const MAX_GROWTH = 1.05;
const MAX_RATIO = 2.5;
const TINY_MESSAGES = 19_000;
/** Memory is read after each such share of the requests. */
const STEPS = 40;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    flood: { type: 'string', default: 'bodies' },
    requests: { type: 'string', default: '5000' },
    connections: { type: 'string', default: '4' },
    heap: { type: 'string' },
    stacks: { type: 'string', default: 'pruner,hpm' },
  },
});
const places = { root: process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd(), peers: null, before: null };

function body(seed: number): Buffer {
  if (values.flood === 'bodies') return largeBody(200_000, seed);
  return bodyOf(Array.from({ length: TINY_MESSAGES }, (_, i) => ({ role: 'user', content: `${seed}.${i}` })));
}

/** Resident memory in MiB after each step of the flood. */
async function flood(stack: Stack): Promise<number[]> {
  const [requests, concurrency] = [Number(values.requests), Number(values.connections)];
  const step = Math.max(concurrency, Math.ceil(requests / STEPS));
  const sizes: number[] = [];
  for (let at = 0; at < requests; at += step) {
    // few bodies exist at a time: memory of this process is not measured, but the machine has only so much
    for (let from = at; from < at + step; from += concurrency) {
      const bodies = Array.from({ length: concurrency }, (_, i) => body(1 + from + i));
      await burst(stack, { bodies, requests: bodies.length, concurrency });
    }
    sizes.push(rssMib(stack.pid));
    process.stderr.write(`${stack.name} ${at + step} requests: ${Math.round(sizes.at(-1) ?? 0)} MiB\n`);
  }
  return sizes;
}

/** Medians of a quarter: one reading depends on when garbage was collected. */
function quarter(sizes: readonly number[], number: number): number {
  const length = Math.ceil(sizes.length / 4);
  return median(sizes.slice((number - 1) * length, number * length));
}

const upstream = await startUpstream(places);
const ends = new Map<string, number>();
try {
  for (const name of values.stacks.split(',')) {
    const start = starters(places).get(name);
    if (!start) throw new Error(`no stack ${name}`);
    if (name === 'pruner' && values.heap !== undefined) {
      process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --max-old-space-size=${values.heap}`;
    }
    const stack = await start(upstream.url);
    try {
      const before = cpuMs(stack.pid);
      const sizes = await flood(stack);
      const cpu = (cpuMs(stack.pid) - before) / Number(values.requests);
      const [half, end] = [quarter(sizes, 2), quarter(sizes, 4)];
      ends.set(name, end);
      const figures = { half, end, most: Math.max(...sizes) };
      const text = Object.entries(figures).map(([what, mib]) => `${what} ${Math.round(mib)}`);
      process.stdout.write(
        `${name}: MiB ${text.join(', ')}, growth in the last half ${(end / half).toFixed(3)}; CPU ms a request ${cpu.toFixed(1)}\n`,
      );
      if (name === 'pruner' && end > half * MAX_GROWTH) process.exitCode = 1;
    } finally {
      await stack.stop();
    }
  }
} finally {
  await upstream.stop();
}
const [pruner, hpm] = [ends.get('pruner'), ends.get('hpm')];
if (pruner !== undefined && hpm !== undefined) {
  process.stdout.write(`ratio to http-proxy-middleware: ${(pruner / hpm).toFixed(2)}\n`);
  if (pruner > hpm * MAX_RATIO) process.exitCode = 1;
}
