import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { compiled } from '../helpers/built.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { completion, event, startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn } from '../helpers/markers.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { dial, send } from '../helpers/wire.ts';

beforeAll(() => void compiled('cli.js'), 120_000);

const bodyOf = (seed: number): Buffer =>
  chatBody(oneResult(serverLog(200, seed), { args: { command: `job ${seed}` } }));

function environment(upstream: { url: string }, dbPath = join(tempFolder(), 'store.db')): Record<string, string> {
  return { MCP_PRUNER_UPSTREAM_URL: upstream.url, MCP_PRUNER_DB_PATH: dbPath };
}

describe('a server that is killed at any moment', () => {
  it('can recover every forwarded marker after its restart', async () => {
    const upstream = await startUpstream();
    // a busy machine takes longer than the usual time limit, and a text would then go whole
    const env = { ...environment(upstream), MCP_PRUNER_TIMEOUT_MS: '30000' };
    let seed = 0;
    const originals = new Map<string, number>();
    for (let round = 0; round < 6; round++) {
      const server = await startServerProcess({ env });
      const before = upstream.requests.length;
      const load = Promise.allSettled(
        Array.from({ length: 6 }, async () => {
          for (let i = 0; i < 4; i++) await (await server.chat(bodyOf(seed++))).text();
        }),
      );
      // A moment between the first request's arrival and the last one's end, later each time.
      await until(() => upstream.requests.length > before + round);
      await new Promise((resolve) => setTimeout(resolve, (round * 13) % 60));
      server.kill('SIGKILL');
      expect(await server.ended()).toBe('SIGKILL');
      await load;
    }
    for (const { body } of upstream.requests) {
      const job = /job (\d+)/.exec(body.toString('utf8'))?.[1];
      for (const { pruneId } of markersIn(contentAt(body, -1))) originals.set(pruneId, Number(job));
    }
    expect(originals.size).toBeGreaterThan(8);
    const server = await startServerProcess({ env });
    for (const [pruneId, job] of originals) {
      expect(`${await server.recover(pruneId, 1, 200)}\n`).toBe(serverLog(200, job));
    }
  }, 180_000);
});

describe('a server whose store cannot be created', () => {
  // mkdir says there that there is no such folder, again and again
  it.skipIf(process.platform !== 'linux')('serves unpruned, and reports why', async () => {
    const upstream = await startUpstream();
    const dbPath = '/proc/no-such-folder/below/store.db';
    const server = await startServerProcess({ env: environment(upstream, dbPath) });
    const body = bodyOf(1);
    expect((await server.chat(body)).status).toBe(200);
    expect(upstream.last.body.equals(body)).toBe(true);
    expect(server.log).toContain(dbPath);
    expect(server.log).toContain("ENOENT: no such file or directory, mkdir '/proc/no-such-folder'");
  });
});

describe('two servers on one store file', () => {
  it('forward the same bytes, and each recovers what the other cut', async () => {
    const upstream = await startUpstream();
    // a busy machine takes longer than the usual time limit, and the first text would then go whole
    const env = { ...environment(upstream), MCP_PRUNER_TIMEOUT_MS: '30000' };
    const [one, two] = await Promise.all([startServerProcess({ env }), startServerProcess({ env })]);
    await Promise.all(Array.from({ length: 20 }, async (_, i) => (await (i % 2 ? one : two).chat(bodyOf(i))).text()));
    const firstly = new Map(upstream.requests.map(({ body }) => [/job (\d+)/.exec(body.toString('utf8'))?.[1], body]));
    upstream.requests.length = 0;
    await Promise.all(Array.from({ length: 20 }, async (_, i) => (await (i % 2 ? two : one).chat(bodyOf(i))).text()));
    for (const { body } of upstream.requests) {
      const job = /job (\d+)/.exec(body.toString('utf8'))?.[1];
      expect(body.equals(firstly.get(job) ?? Buffer.alloc(0))).toBe(true);
      const [marker] = markersIn(contentAt(body, -1));
      const other = Number(job) % 2 ? two : one;
      expect(`${await other.recover(marker?.pruneId ?? '', 1, 200)}\n`).toBe(serverLog(200, Number(job)));
    }
    for (const { log } of [one, two]) expect(log).not.toContain('store unavailable');
  });
});

describe('a server that receives a stop signal', () => {
  it.each(['SIGTERM', 'SIGHUP'] as const)(
    'finishes the current stream, refuses new requests, and exits with 0 on %s',
    async (signal) => {
      let goOn: () => void = () => {};
      const stopping = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const upstream = await startUpstream(async (_request, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(event('first'));
        await stopping;
        res.end(event('last'));
      });
      const server = await startServerProcess({ env: environment(upstream) });
      const answer = (await server.chat(bodyOf(1))).text();
      await until(() => upstream.requests.length === 1);
      server.kill(signal);
      await until(() =>
        send(`${server.url}/health`).then(
          () => false,
          () => true,
        ),
      );
      goOn();
      expect(await answer).toContain('last');
      expect(await server.ended()).toBe(0);
    },
  );

  it('ends at once on the second Ctrl-C', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('for ever'));
    });
    const server = await startServerProcess({ env: environment(upstream) });
    const answer = server.chat(bodyOf(1)).then((res) => res.text());
    const broken = expect(answer).rejects.toThrow();
    await until(() => upstream.requests.length === 1);
    server.kill('SIGINT');
    await until(() => server.log.includes('stopping'));
    await new Promise((resolve) => setTimeout(resolve, 80)); // closer together they count as one
    server.kill('SIGINT');
    expect(await server.ended()).toBe(130);
    await broken;
  });
});

describe('a server in trouble', () => {
  it('continues after an uncaught error, and reports it', async () => {
    const upstream = await startUpstream();
    const folder = tempFolder();
    const bomb = join(folder, 'bomb.mjs');
    writeFileSync(
      bomb,
      "process.on('SIGUSR2', () => { setTimeout(() => { throw new Error('boom 1'); }); Promise.reject(new Error('boom 2')); });",
    );
    const env = { ...environment(upstream), NODE_OPTIONS: `--import=${bomb}` };
    const server = await startServerProcess({ env });
    server.kill('SIGUSR2');
    await until(() => server.log.includes('boom 1') && server.log.includes('boom 2'));
    expect((await server.chat(bodyOf(1))).status).toBe(200);
    expect(server.log).toContain('unexpected error; the server goes on');
  });

  it('recovers once it has file descriptors again', async () => {
    const upstream = await startUpstream();
    const server = await startServerProcess({ env: environment(upstream), prelude: 'ulimit -n 256' });
    expect((await server.chat(bodyOf(1))).status).toBe(200);
    const port = Number(new URL(server.url).port);
    const sockets = await Promise.all(Array.from({ length: 400 }, () => dial(port)));
    sockets[0]?.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    if (sockets[0]) await once(sockets[0], 'data'); // whoever has a connection is served
    for (const socket of sockets) socket.destroy();
    await until(async () => {
      const answer = await server.chat(bodyOf(2)).catch(() => null);
      return answer?.status === 200 && (await answer.text());
    });
    await until(async () => {
      await (await server.chat(bodyOf(3))).text();
      return upstream.last.body.includes('prune_id=');
    });
    expect(server.child.exitCode).toBeNull();
  });

  it('survives when the reader of its log is gone', async () => {
    const upstream = await startUpstream();
    const server = await startServerProcess({ env: environment(upstream) });
    server.child.stdout?.destroy();
    for (let i = 0; i < 5; i++) expect((await server.chat(bodyOf(i))).status).toBe(200);
    expect(server.child.exitCode).toBeNull();
  });

  it('does not start without a token on an address that other machines can reach', async () => {
    const upstream = await startUpstream(completion());
    const env = { ...environment(upstream), MCP_PRUNER_HOST: '0.0.0.0' };
    await expect(startServerProcess({ env })).rejects.toThrow(/ended with 2.*MCP_PRUNER_AUTH_TOKEN/s);
  });
});
