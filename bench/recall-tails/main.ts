/**
 * What keeping and indexing results for recall does to the slowest requests. Needs a build:
 *   npm run build && node bench/run.mjs recall-tails [--seconds 120] [--chars 10000] [--model-ms 100]
 *
 * Two proxies, one with MCP_PRUNER_RECALL=on and one with off, receive the same requests of six conversations in turn,
 * without a pause that indexing could wait for: it starts after 30 seconds all the same and then runs between them. Each
 * request brings a new result. Nothing is pruned, so that `off` keeps and indexes nothing. Times are those beyond the
 * model's own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { generator, sourceFile } from '../speed/payloads.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    chars: { type: 'string', default: '10000' },
    'model-ms': { type: 'string', default: '100' },
  },
});
const modelMs = Number(values['model-ms']);
const CONVERSATIONS = 6;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const ANSWER = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
});
const upstream = createServer((request, response) => {
  const answer = (): unknown => response.setHeader('content-type', 'application/json').end(ANSWER);
  request.resume().on('end', () => setTimeout(answer, modelMs));
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;

interface Proxy {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
  readonly folder: string;
  readonly latenciesMs: number[];
}

async function startProxy(recall: 'on' | 'off'): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), `recall-tails-${recall}-`));
  const env = {
    ...process.env,
    MCP_PRUNER_PORT: '0',
    MCP_PRUNER_UPSTREAM_URL: upstreamUrl,
    MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
    MCP_PRUNER_NEVER_PRUNE_TOOLS: '*',
    MCP_PRUNER_RECALL: recall,
  };
  const child = spawn(process.execPath, ['dist/cli.js', 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await new Promise<string>((resolve, reject) => {
    const read = (line: string): void => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
      if (found !== undefined && found !== upstreamUrl) resolve(found);
    };
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', read);
    child.once('exit', (code) => reject(new Error(`the proxy ended with ${code}: build first`)));
  });
  return { name: `recall ${recall}`, url, child, folder, latenciesMs: [] };
}

const random = generator(7);
/** A conversation of at most this many results, so that requests stay of one size. */
const MOST_RESULTS = 8;
let number = 0;

function nextBody(messages: object[]): string {
  number++;
  if (messages.length > 2 * MOST_RESULTS) messages.length = 0;
  if (messages.length === 0) messages.push({ role: 'user', content: `What is wrong in part ${number}?` });
  const id = `call_${number}`;
  const call = { name: 'read_file', arguments: JSON.stringify({ path: `src/part${number}.ts` }) };
  messages.push(
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: id, content: sourceFile(Number(values.chars), random) },
  );
  return JSON.stringify({ model: 'm', messages });
}

async function send({ url, latenciesMs }: Proxy, body: string): Promise<void> {
  const at = performance.now();
  const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  await answer.text();
  if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
  latenciesMs.push(performance.now() - at - modelMs);
}

const proxies = [await startProxy('on'), await startProxy('off')];
try {
  const endMs = performance.now() + 1000 * Number(values.seconds);
  const converse = async (): Promise<void> => {
    const messages: object[] = [];
    while (performance.now() < endMs) {
      const body = nextBody(messages);
      for (const proxy of number % 2 === 0 ? proxies : proxies.toReversed()) await send(proxy, body);
      await sleep(60 * random());
    }
  };
  await Promise.all(Array.from({ length: CONVERSATIONS }, converse));
  for (const { name, latenciesMs, folder } of proxies) {
    const sorted = latenciesMs.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
    const db = new (sqliteDriver())(join(folder, 'store.db'), { readonly: true });
    const indexed = db.prepare('SELECT count(*) FROM recall WHERE indexed = 1').pluck().get();
    db.close();
    say(
      `${name}: ${sorted.length} requests, p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, p99.9 ${at(0.999)} ms; ${indexed} results indexed`,
    );
  }
} finally {
  for (const { child, folder } of proxies) {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  upstream.close();
}
