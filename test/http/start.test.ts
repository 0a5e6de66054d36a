import { expect, it, describe as when } from 'vitest';
import { type Listening, listen, type Routes } from '../../src/proxy/server.ts';
import { afterwards } from '../helpers/afterwards.ts';

const ROUTES: Routes = {
  hops: { isCircle: () => false },
  wires: [
    {
      claims: (_method, path) => path === '/v1/chat/completions',
      async handle(req, res) {
        for await (const _ of req);
        res.end('chat');
      },
    },
  ],
  app: (_req, res) => void res.end('app'),
};

async function start(): Promise<Listening> {
  const server = await listen({ health: () => ({ status: 'healthy' }), host: '127.0.0.1', port: 0, drainTimeoutMs: 0 });
  afterwards(() => server.close());
  return server;
}

function post(server: Listening): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
}

when('the port is open before the rest is there', () => {
  it('tells of its health, and keeps requests until they can be answered', async () => {
    const server = await start();
    const [chat, other] = [post(server), fetch(`${server.url}/v1/models`)];
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: 'healthy' });
    expect((await fetch(`${server.url}/health?probe=1`, { method: 'HEAD' })).status).toBe(200);
    server.serve(ROUTES);
    expect(await (await chat).text()).toBe('chat');
    expect(await (await other).text()).toBe('app');
  });

  it('refuses what waited when it is stopped before', async () => {
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
