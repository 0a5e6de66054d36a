import { describe, expect, it } from 'vitest';
import { servingProblem } from '../../src/config/warnings.ts';
import { edition } from '../../src/edition.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { settingsOf, startProxy } from '../helpers/proxy.ts';
import { send } from '../helpers/wire.ts';

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const TOKEN = 'a-long-enough-token-of-30-chars';

describe('the endpoints with originals and figures', () => {
  it.each([
    ['/rpc', 'POST'],
    ['/mcp', 'POST'],
    ['/metrics', 'GET'],
  ])('%s is for pages of this machine only: a rebound name is refused', async (path, method) => {
    const proxy = await startProxy(await startUpstream());
    const ask = (headers: Record<string, string>) =>
      send(`${proxy.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(method === 'POST' && { body: PING }),
      });
    for (const host of ['127.0.0.1:8006', 'localhost', '[::1]:1']) expect((await ask({ host })).status).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8006'])
      expect([host, (await ask({ host })).status]).toEqual([host, 403]);
    for (const origin of [
      'https://evil.example',
      'null',
      'file://',
      'http://127.0.0.1.evil.example',
      'http://localhost:3000',
    ])
      expect((await ask({ origin })).status).toBe(403);
    expect((await ask({ origin: proxy.url })).status).toBe(200);
  });

  it.each([
    ['/rpc', 'POST'],
    ['/mcp', 'POST'],
    ['/prune', 'POST'],
    ['/metrics', 'GET'],
  ])('%s requires the token if there is one', async (path, method) => {
    const proxy = await startProxy(await startUpstream(), { env: { MCP_PRUNER_AUTH_TOKEN: TOKEN } });
    const ask = (authorization?: string) =>
      send(`${proxy.url}${path}`, {
        method,
        headers: { ...(authorization && { authorization }) },
        ...(method === 'POST' && { body: PING }),
      });
    expect((await ask(`Bearer ${TOKEN}`)).status).toBe(path === '/prune' ? 422 : 200);
    const inUrl = await send(`${proxy.url}${path}?token=${TOKEN}`, {
      method,
      ...(method === 'POST' && { body: PING }),
    });
    expect(inUrl.status).toBe(['/rpc', '/mcp'].includes(path) ? 200 : 401);
    for (const wrong of [
      undefined,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      'Bearer ',
      `Basic ${TOKEN}`,
      TOKEN,
    ]) {
      const answer = await ask(wrong);
      expect([wrong, answer.status, answer.headers['www-authenticate']]).toEqual([
        wrong,
        401,
        expect.stringContaining('Bearer'),
      ]);
    }
  });

  it('reveal no addresses to a foreign page on /health', async () => {
    const proxy = await startProxy(await startUpstream());
    const health = async (headers: Record<string, string>) =>
      JSON.parse((await send(`${proxy.url}/health`, { headers })).body.toString()) as Record<string, unknown>;
    const addresses = ['upstream', 'anthropic_upstream', 'gemini_upstream'];
    expect(Object.keys(await health({}))).toEqual(expect.arrayContaining(addresses));
    const pages: Record<string, string>[] = [{ host: 'evil.example' }, { origin: 'https://evil.example' }];
    for (const foreign of pages) {
      const report = await health(foreign);
      expect(report).toMatchObject({ status: 'healthy', server: 'mcp-pruner' });
      expect(JSON.stringify(report)).not.toContain('://');
    }
  });

  it('leave /health and the proxied routes usable without the token', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_AUTH_TOKEN: TOKEN } });
    const health = await send(`${proxy.url}/health`);
    expect(JSON.parse(health.body.toString())).toMatchObject({
      status: 'healthy',
      server: 'mcp-pruner',
      store: 'ok',
      mode: 'prune',
    });
    expect((await proxy.chat('{"messages":[]}')).status).toBe(200);
    expect(upstream.last.headers.authorization).toBe('Bearer sk-test');
  });

  it.each([
    ['127.0.0.1', 'http://127.0.0.1:8006/v1', true],
    ['127.0.0.1', 'http://localhost:8006/v1', true],
    ['localhost', 'http://[::1]:8006', true],
    ['127.0.0.1', 'http://0.0.0.0:8006/v1', true],
    ['0.0.0.0', 'http://localhost:8006/v1', true],
    ['box.lan', 'http://box.lan:8006/v1', true],
    ['127.0.0.1', 'http://127.0.0.1:8007/v1', false],
    ['127.0.0.1', 'http://box.lan:8006/v1', false],
    ['box.lan', 'http://127.0.0.1:8006/v1', false],
    ['127.0.0.1', 'https://127.0.0.1:8006/v1', false],
  ])('are not served at %s if the upstream is %s: %s', (host, upstream, refused) => {
    const settings = settingsOf({
      MCP_PRUNER_HOST: host,
      MCP_PRUNER_UPSTREAM_URL: upstream,
      MCP_PRUNER_AUTH_TOKEN: TOKEN,
    });
    const problem = servingProblem(settings, edition.settings);
    if (refused) expect(problem).toContain('is this proxy itself');
    else expect(problem).toBeNull();
  });

  it('are not served without a token on an address that other machines can reach', () => {
    const env = { MCP_PRUNER_HOST: '0.0.0.0' };
    expect(servingProblem(settingsOf(env), edition.settings)).toContain('MCP_PRUNER_AUTH_TOKEN');
    expect(servingProblem(settingsOf({ ...env, MCP_PRUNER_AUTH_TOKEN: TOKEN }), edition.settings)).toBeNull();
  });
});
