import { gzipSync } from 'node:zlib';
import { type Bench, note, type Section } from './figures.ts';
import { median } from './load.ts';
import { generator, serviceLog } from './payloads.ts';
import type { Stack } from './stacks.ts';
import { cpuOf } from './yardsticks.ts';

const CALLS = 60;
const KB = 1_000;

/** The MCP tools over HTTP: how fast a text is pruned, and what a recovery costs beside the cheapest call there is. */
export const rpc: Section = {
  name: 'rpc',
  async run(bench) {
    const pruner = bench.stacks.find(({ name }) => name === 'pruner');
    if (!pruner) return;
    const log = logOf(1_000 * KB, 1);
    for (const kb of [100, 1_000]) {
      for (let i = 0; i < (bench.quick ? 1 : 10); i++) await prune(pruner, logOf(kb * KB, 9_000 + i));
    }
    for (let round = 0; round < bench.rounds; round++) {
      const gzipMs = cpuOf(() => gzipSync(log, { level: 1 }));
      note(bench, 'rpc: gzip -1 of 1 MB of logs, MB/s', 'direct', 1_000 / gzipMs);
      for (const [name, kb, times] of [
        ['100 KB', 100, 20],
        ['1 MB', 1_000, 5],
      ] as const) {
        const took: number[] = [];
        for (let i = 0; i < (bench.quick ? 2 : times); i++) {
          const text = logOf(kb * KB, 1 + round * 100 + i);
          took.push(await timed(() => prune(pruner, text)));
        }
        note(bench, `rpc: prune_text of ${name}, MB/s`, pruner.name, kb / median(took));
      }
      await recovery(bench, pruner, round);
    }
  },
};

async function recovery(bench: Bench, pruner: Stack, round: number): Promise<void> {
  const pruneId = await prune(pruner, logOf(200 * KB, 7_000 + round));
  const recovered: number[] = [];
  const listed: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const ranges = [{ start_line: 100 + i, end_line: 120 + i }];
    const args = { prune_id: pruneId, ranges, include_line_numbers: false };
    recovered.push(await timed(() => call(pruner, 'tools/call', { name: 'recover_text', arguments: args })));
    listed.push(await timed(() => call(pruner, 'tools/list', {})));
  }
  note(bench, 'rpc: recover_text p50 ms', pruner.name, median(recovered));
  note(bench, 'rpc: tools/list p50 ms', pruner.name, median(listed));
}

function logOf(chars: number, seed: number): string {
  return serviceLog(chars, generator(seed));
}

async function prune(pruner: Stack, text: string): Promise<string> {
  const goal = 'why do orders fail with a timeout in the session cache?';
  const whole = { timeout_ms: 60_000, annotate_lines: false, include_markers: true };
  const options = { max_prune_ratio: 0.9, min_keep_lines: 20, ...whole };
  const args = { text, goal_hint: goal, source_type: 'logs', options };
  const result = await call(pruner, 'tools/call', { name: 'prune_text', arguments: args });
  const id = /prn_[0-9A-Z]{12}/.exec(JSON.stringify(result))?.[0];
  if (id === undefined) throw new Error(`prune_text gave no prune_id: ${JSON.stringify(result).slice(0, 300)}`);
  return id;
}

async function call(pruner: Stack, method: string, params: object): Promise<unknown> {
  const answer = await fetch(`${pruner.url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const said = (await answer.json()) as { readonly result?: unknown; readonly error?: unknown };
  if (said.result === undefined || failed(said.result))
    throw new Error(`${method}: ${JSON.stringify(said).slice(0, 300)}`);
  return said.result;
}

function failed(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'isError' in result && result.isError === true;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
