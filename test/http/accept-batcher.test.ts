import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { AcceptBatcher } from '../../src/proxy/accept-batcher.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A server that notes by whom it was asked, in the order in which it answers. */
async function serverWith(acceptBatcher: AcceptBatcher): Promise<{ readonly port: number; readonly served: string[] }> {
  const served: string[] = [];
  const server = createServer((req, res) =>
    acceptBatcher.serve(() => {
      served.push(req.url ?? '');
      res.end('ok');
    }),
  );
  server.on('connection', () => acceptBatcher.connectionAccepted());
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, served };
}

/** Asks a number of times over one connection, each time when the answer before it is there. */
async function ask(port: number, who: string, times: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < times; i++) {
    const [answer] = await once(request({ host: '127.0.0.1', port, path: who, agent }).end(), 'response');
    await once(answer.resume(), 'end');
  }
  agent.destroy();
}

describe('AcceptBatcher', () => {
  it('serves all connections that arrive together once before it serves any of them again', async () => {
    const { port, served } = await serverWith(new AcceptBatcher(() => 0));
    const names = Array.from({ length: 40 }, (_, i) => `/${i}`);
    await Promise.all(names.map((name) => ask(port, name, 3)));
    expect(new Set(served.slice(0, names.length)).size).toBe(names.length);
    expect(served).toHaveLength(3 * names.length);
  });

  it('serves at once if no connection has just arrived', () => {
    let isServed = false;
    new AcceptBatcher().serve(() => {
      isServed = true;
    });
    expect(isServed).toBe(true);
  });

  it('delays no connection indefinitely while others keep arriving', async () => {
    let nowMs = 0;
    const acceptBatcher = new AcceptBatcher(() => nowMs);
    let isServed = false;
    acceptBatcher.connectionAccepted();
    acceptBatcher.serve(() => {
      isServed = true;
    });
    while (!isServed) {
      expect(nowMs).toBeLessThan(1_000);
      acceptBatcher.connectionAccepted();
      nowMs += 5;
      await nextTurn();
    }
    expect(nowMs).toBeGreaterThan(5);
  });
});
