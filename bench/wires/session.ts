import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket, { WebSocketServer } from 'ws';
import { end, logText, memoryOf, startServer } from '../soak/stage.ts';

/** One connection, from which so much memory is held after so many turns. */
export interface Held {
  readonly turns: number;
  /** Resident memory of the proxy. */
  readonly mib: number;
}

/**
 * A session as Codex has it over WebSocket: each request brings the result of the call that the answer before made.
 *
 * @param stops - after how many turns memory is read, ascending
 */
export async function* sessionMemory(stops: readonly number[]): AsyncGenerator<Held> {
  const upstream = await startModel();
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-bench-'));
  const server = await startServer({
    MCP_PRUNER_UPSTREAM_URL: upstream.url,
    MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
    MCP_PRUNER_LOG_LEVEL: 'info',
  });
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/responses`);
  try {
    await once(socket, 'open');
    let turn = 0;
    for (const stop of stops) {
      for (; turn < stop; turn++) await ask(socket, turn);
      // what the last turns left behind is collected meanwhile
      await new Promise((resume) => setTimeout(resume, 2_000));
      yield { turns: turn, mib: memoryOf(server) };
    }
  } finally {
    socket.terminate();
    await end(server, 'SIGTERM');
    upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ask(socket: WebSocket, turn: number): Promise<void> {
  const input =
    turn === 0
      ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why does the checkout fail?' }] }]
      : [{ type: 'function_call_output', call_id: `call_${turn - 1}`, output: logText(turn, 150) }];
  const previous = turn === 0 ? {} : { previous_response_id: `resp_${turn - 1}` };
  const answered = new Promise<void>((resolve, reject) => {
    const hear = (data: unknown): void => {
      const type = /"type":"([a-z._]+)"/.exec(String(data))?.[1];
      if (type === 'error') reject(new Error(String(data)));
      if (type !== 'response.completed') return;
      socket.off('message', hear);
      resolve();
    };
    socket.on('message', hear);
  });
  socket.send(JSON.stringify({ type: 'response.create', model: 'bench', store: false, ...previous, input }));
  await answered;
}

/** A model that calls a command in each of its answers. */
async function startModel(): Promise<{ readonly url: string; close(): void }> {
  const http = createServer((_req, res) => res.writeHead(404).end());
  const server = new WebSocketServer({ server: http, maxPayload: 64 * 1024 * 1024 });
  server.on('connection', (socket) => {
    let turn = 0;
    socket.on('error', () => {});
    socket.on('message', () => {
      const id = `resp_${turn}`;
      const item = {
        type: 'function_call',
        call_id: `call_${turn}`,
        name: 'shell',
        arguments: JSON.stringify({ command: `npm run job-${turn++}` }),
      };
      const usage = { input_tokens: 900, output_tokens: 9, input_tokens_details: { cached_tokens: 800 } };
      const events = [
        { type: 'response.created', response: { id, status: 'in_progress' } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id, status: 'completed', output: [item], usage } },
      ];
      for (const event of events) socket.send(JSON.stringify(event));
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    close: () => {
      server.close();
      http.close();
      http.closeAllConnections();
    },
  };
}
