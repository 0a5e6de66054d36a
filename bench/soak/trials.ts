import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { chance, pause } from './chance.ts';
import { fleetKills, fleetKillsOnPostgres } from './fleet.ts';
import { chat, chatBody, end, logText, memoryOf, recover, type Server, startServer, startUpstream } from './stage.ts';

const Database = sqliteDriver();

const MIB = 1024 * 1024;

/** What a trial found: a sentence, and whether it is as it should be. */
export interface Finding {
  readonly passed: boolean;
  readonly says: string;
}

/** What a trial may be told. */
export interface Plan {
  readonly kills: number;
  readonly seed: number;
}

export type Trial = (plan: Plan) => Promise<Finding>;

/** Runs something with a store and an upstream of its own. */
async function withServer(
  answer: Parameters<typeof startUpstream>[0],
  run: (start: () => Promise<Server>, dbPath: string) => Promise<Finding>,
  more: Readonly<Record<string, string>> = {},
): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-soak-'));
  const upstream = await startUpstream(answer);
  const servers: Server[] = [];
  const dbPath = join(folder, 'store.db');
  const start = async (): Promise<Server> => {
    const server = await startServer({ MCP_PRUNER_DB_PATH: dbPath, MCP_PRUNER_UPSTREAM_URL: upstream.url, ...more });
    servers.push(server);
    return server;
  };
  try {
    return await run(start, dbPath);
  } finally {
    for (const server of servers) await end(server, 'SIGKILL');
    upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Kill -9 at random points of a loaded run; afterwards every marker that the upstream received must recover. */
const kills: Trial = async ({ kills: rounds, seed }) => {
  const received = new Map<string, number>();
  const note = (body: Buffer): void => {
    const text = body.toString('utf8');
    const job = Number(/job (\d+)/.exec(text)?.[1]);
    for (const [, id] of text.matchAll(/prune_id=(prn_[0-9A-Z]{12})/g)) if (id) received.set(id, job);
  };
  return withServer(
    (body, res) => {
      note(body);
      res.end('{}');
    },
    async (start) => {
      const random = chance(seed);
      let next = 0;
      for (let round = 0; round < rounds; round++) {
        const server = await start();
        let running = true;
        const load = Promise.allSettled(
          Array.from({ length: 8 }, async () => {
            while (running) await chat(server.url, chatBody(next++));
          }),
        );
        const before = received.size;
        for (let waited = 0; received.size === before && waited < 5_000; waited += 5) await pause(5);
        await pause(random() * 200);
        await end(server, 'SIGKILL');
        running = false;
        await load;
      }
      const server = await start();
      let lost = 0;
      for (const [id, job] of received) if ((await recover(server.url, id, 300)) !== logText(job)) lost++;
      const says = `${rounds} kills, ${next} requests, ${received.size} markers received, ${lost} lost`;
      return { passed: lost === 0 && received.size > rounds, says };
    },
  );
};

/** A thousand idle connections cost a request nothing. */
const idle: Trial = () =>
  withServer(
    (_body, res) => res.end('{}'),
    async (start) => {
      const server = await start();
      const sockets = Array.from({ length: 1_000 }, () => net.connect(server.port, '127.0.0.1').on('error', () => {}));
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      for (const socket of sockets) socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
      await Promise.all(sockets.map((socket) => once(socket, 'data')));
      const startedAt = performance.now();
      const status = await chat(server.url, chatBody(1));
      const ms = Math.round(performance.now() - startedAt);
      for (const socket of sockets) socket.destroy();
      return {
        passed: status === 200 && ms < 2_000,
        says: `1,000 idle connections, then a request: ${status} in ${ms} ms`,
      };
    },
  );

/** Two hundred requests of a megabyte at once. */
const large: Trial = () =>
  withServer(
    (_body, res) => res.end('{}'),
    async (start) => {
      const server = await start();
      const before = memoryOf(server);
      const texts = Array.from({ length: 200 }, (_, i) => chatBody(i, logText(i, 20_000)));
      const startedAt = performance.now();
      let running = true;
      let longest = 0;
      const others = (async () => {
        while (running) {
          const askedAt = performance.now();
          await (await fetch(`${server.url}/health`)).arrayBuffer();
          longest = Math.max(longest, Math.round(performance.now() - askedAt));
          await pause(50);
        }
      })();
      const statuses = await Promise.all(texts.map((body) => chat(server.url, body)));
      running = false;
      await others;
      const ok = statuses.filter((status) => status === 200).length;
      const s = ((performance.now() - startedAt) / 1_000).toFixed(1);
      const grown = Math.round(memoryOf(server) - before);
      return {
        passed: ok === 200 && longest < 5_000,
        says: `200 requests of 1 MB at once: ${ok} answered in ${s} s, others waited ${longest} ms at most, memory +${grown} MiB`,
      };
    },
  );

/** A reader that stands still while the upstream has 200 MB to send. */
const slowReader: Trial = () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  return withServer(
    async (_body, res) => {
      for (let sent = 0; sent < 200 * MIB; sent += chunk.length) if (!res.write(chunk)) await once(res, 'drain');
      res.end();
    },
    async (start) => {
      const server = await start();
      await chat(server.url, chatBody(1)); // whatever a first request loads
      const before = memoryOf(server);
      const req = http.request(`${server.url}/v1/chat/completions`, { method: 'POST', agent: false });
      req.end(chatBody(2));
      const [res] = (await once(req, 'response')) as [http.IncomingMessage];
      let peak = 0;
      let size = 0;
      for await (const piece of res) {
        size += (piece as Buffer).length;
        if (size % (4 * MIB) < (piece as Buffer).length) {
          await pause(20);
          peak = Math.max(peak, memoryOf(server) - before);
        }
      }
      const says = `200 MB to a slow reader: ${Math.round(size / MIB)} MiB arrived, memory +${Math.round(peak)} MiB at most`;
      return { passed: size === 200 * MIB && peak < 60, says };
    },
  );
};

/** Heads that never end are cut off, others are served meanwhile. */
const slowHeaders: Trial = () =>
  withServer(
    (_body, res) => res.end('{}'),
    async (start) => {
      const server = await start();
      const startedAt = performance.now();
      const sockets = Array.from({ length: 100 }, () => net.connect(server.port, '127.0.0.1').on('error', () => {}));
      const drip = setInterval(() => {
        for (const socket of sockets) socket.write('x');
      }, 1_000);
      for (const socket of sockets) socket.write('POST /v1/chat/completions HTTP/1.1\r\nx-slow: ');
      const status = await chat(server.url, chatBody(1));
      const cutOff = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
      const all = await Promise.race([cutOff.then(() => true), pause(90_000).then(() => false)]);
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
      const s = Math.round((performance.now() - startedAt) / 1_000);
      return {
        passed: all && status === 200,
        says: `100 heads that never end: ${all ? `cut off after ${s} s` : 'still open after 90 s'}`,
      };
    },
  );

/** The store locked by another process for ten seconds: requests go through, pruning is back afterwards. */
const locked: Trial = () => {
  const bodies: Buffer[] = [];
  return withServer(
    (body, res) => {
      bodies.push(body);
      res.end('{}');
    },
    async (start, dbPath) => {
      const server = await start();
      await chat(server.url, chatBody(0));
      const other = new Database(dbPath);
      other.exec('BEGIN IMMEDIATE');
      const until = performance.now() + 10_000;
      let sent = 1;
      let failed = 0;
      while (performance.now() < until) if ((await chat(server.url, chatBody(sent++))) !== 200) failed++;
      other.exec('COMMIT');
      other.close();
      await chat(server.url, chatBody(sent));
      const back = bodies.at(-1)?.includes('prune_id=') === true;
      return {
        passed: failed === 0 && back,
        says: `locked for 10 s: ${sent} requests, ${failed} failed, pruning ${back ? 'is back' : 'is not back'}`,
      };
    },
  );
};

export const trials: Readonly<Record<string, Trial>> = {
  fleet: (plan) => fleetKills(plan),
  fleetOnPostgres: fleetKillsOnPostgres,
  kills,
  idle,
  large,
  slowReader,
  slowHeaders,
  locked,
};
