import { expect, it, describe as when } from 'vitest';
import { loadSoon } from '../../src/proxy/loaded-later.ts';
import { type ListeningServer, listen, type Routes } from '../../src/proxy/server.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { send } from '../helpers/wire.ts';

const ROUTES: Routes = {
  hops: { isLoop: () => false },
  wireFor: ({ url }) =>
    url === '/v1/chat/completions'
      ? {
          errorBody: (_status, code) => Buffer.from(code),
          async handle(req, res) {
            for await (const _ of req);
            res.end('chat');
          },
        }
      : null,
  app: (_req, res) => void res.end('app'),
};

async function start(): Promise<ListeningServer> {
  const server = await listen({ health: () => ({ status: 'healthy' }), host: '127.0.0.1', port: 0, drainTimeoutMs: 0 });
  afterwards(() => server.close());
  return server;
}

function post(server: ListeningServer): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
}

when('the port is open before the rest is there', () => {
  it('a starting server answers /health, and delays requests until it can serve them', async () => {
    const server = await start();
    const [chat, other] = [post(server), fetch(`${server.url}/v1/models`)];
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: 'healthy' });
    expect((await fetch(`${server.url}/health?probe=1`, { method: 'HEAD' })).status).toBe(200);
    server.serve(ROUTES);
    expect(await (await chat).text()).toBe('chat');
    expect(await (await other).text()).toBe('app');
  });

  it('a server is live at once, and ready when everything is loaded', async () => {
    let loaded = false;
    const server = await listen({
      health: () => ({}),
      ready: () => loaded,
      host: '127.0.0.1',
      port: 0,
      drainTimeoutMs: 0,
    });
    afterwards(() => server.close());
    const status = async (path: string) => (await fetch(`${server.url}/health/${path}`)).status;
    expect([await status('live'), await status('ready')]).toEqual([200, 503]);
    server.serve(ROUTES);
    expect([await status('live'), await status('ready')]).toEqual([200, 503]);
    loaded = true;
    expect([await status('live'), await status('ready')]).toEqual([200, 200]);
  });

  it('a part that failed to load advises a restart, while model requests are served', async () => {
    const faults: unknown[] = [];
    const rest = loadSoon(
      () => Promise.reject(new Error('no descriptors')),
      (cause) => faults.push(cause),
    );
    const server = await start();
    server.serve({ ...ROUTES, app: rest.listener });
    await rest.settled;
    for (let i = 0; i < 2; i++) {
      const answer = await fetch(`${server.url}/rpc`, { method: 'POST', body: '{}' });
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        error: { code: 'restart_needed', message: expect.stringContaining('Restart') },
      });
    }
    expect([rest.state(), faults.length]).toEqual(['restart_needed', 1]);
    expect(await (await post(server)).text()).toBe('chat');
  });

  it('a server loads everything before the first request', async () => {
    const proxy = await startProxy(await startUpstream());
    expect(await (await fetch(`${proxy.url}/health`)).json()).toMatchObject({ routes: 'ok', store: 'ok' });
    expect((await fetch(`${proxy.url}/health/ready`)).status).toBe(200);
  });

  it('a URL that express cannot parse gets a JSON error without a stack', async () => {
    const proxy = await startProxy(await startUpstream());
    const answer = await send(`${proxy.url}/rpc/%E0%A4%A`, { method: 'POST' });
    expect(answer.headers['content-type']).toContain('json');
    expect(answer.body.toString()).not.toContain('node_modules');
  });

  it('a server that stops refuses waiting requests', async () => {
    const server = await start();
    const early = post(server);
    // answered behind the other one, so that this one has come
    await (await fetch(`${server.url}/health`)).text();
    void server.close();
    const outcome = await early.then(
      ({ status }) => status,
      () => 'refused',
    );
    expect([503, 'refused']).toContain(outcome);
  });
});
