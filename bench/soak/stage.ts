import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** The folder whose `dist` is tried. */
function benchRoot(): string {
  return process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();
}

/** What a trial found: a sentence, and whether it is as it should be. */
export interface Finding {
  readonly passed: boolean;
  readonly says: string;
}

/** The built server as a process of its own. */
export interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
}

/**
 * Starts `dist/cli.js serve` on a free port and waits until it listens.
 *
 * @param from - the folder of another build
 */
export async function startServer(env: Readonly<Record<string, string>>, from = benchRoot()): Promise<Server> {
  const child = spawn(process.execPath, [join(from, 'dist', 'cli.js'), 'serve', '--port', '0'], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-10_000);
      const found = /"url":"(http:[^"]+)"/.exec(output)?.[1];
      if (found) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output}`)));
  });
  return { child, url, port: Number(new URL(url).port) };
}

/** Ends a server and waits for it. */
export async function end({ child }: Server, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

export interface Upstream {
  readonly url: string;
  close(): void;
}

/** Serves on loopback; `answer` gets each request once its body is whole. */
export async function startUpstream(
  answer: (body: Buffer, res: ServerResponse, req: IncomingMessage) => unknown,
): Promise<Upstream> {
  const server = createServer(async (req, res) => {
    res.on('error', () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of req) chunks.push(chunk as Buffer);
    } catch {
      return; // the proxy was killed in mid-request
    }
    await answer(Buffer.concat(chunks), res, req);
  });
  server.keepAliveTimeout = 600_000; // this process is too busy at times to close idle connections in an orderly way
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A log that the pruner cuts; the same number gives the same text. */
export function logText(seed: number, lines = 300): string {
  const line = (i: number): string => {
    const at = `2026-02-26T12:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}Z`;
    if (i === 200) return `${at} ERROR payment ${seed} failed: cannot read 'total' of undefined`;
    return `${at} INFO GET /v1/items/${(seed * 7919 + i * 31) % 100_000} 200 ${(seed + i) % 90}ms`;
  };
  return Array.from({ length: lines }, (_, i) => line(i)).join('\n');
}

/** A chat request that holds one large result, told apart by `seed`. */
export function chatBody(seed: number, text = logText(seed)): Buffer {
  const call = { id: 'c', type: 'function', function: { name: 'bash', arguments: `{"command":"job ${seed}"}` } };
  const messages = [
    { role: 'user', content: 'Which payment fails, and why?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: text },
  ];
  return Buffer.from(JSON.stringify({ model: 'm', messages }));
}

/** Sends a chat request; resolves with the status once the answer is whole. */
export async function chat(url: string, body: Buffer): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  return answer.status;
}
