import { describe, expect, it } from 'vitest';
import { newKey, onFile, startTeam } from '../../packages/team/test/team.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { send } from '../helpers/wire.ts';

const PAGE = 'https://page.example';
const LISTED = { MCP_PRUNER_ALLOWED_ORIGINS: PAGE };
const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-a' };
const CALL = { 'content-type': 'application/json' };
const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');

async function asked(url: string, method: string, headers: Record<string, string>) {
  const answer = await send(url, { method, headers, ...(method === 'POST' && { body }) });
  return { status: answer.status, allowed: answer.headers['access-control-allow-origin'], headers: answer.headers };
}

describe('pages of listed origins', () => {
  it('may send a preflight request without a token', async () => {
    const { url } = await startProxy(await startUpstream(), { env: { ...LISTED, MCP_PRUNER_AUTH_TOKEN: 's3cret' } });
    const { status, allowed, headers } = await asked(`${url}/rpc`, 'OPTIONS', { origin: PAGE, ...PREFLIGHT });
    expect([status, allowed]).toEqual([204, PAGE]);
    expect(String(headers.vary)).toBe('Origin, Access-Control-Request-Headers');
    expect(headers).toMatchObject({
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,x-a',
    });
  });

  it('may read answers and refusals; other pages may not', async () => {
    const { url } = await startProxy(await startUpstream(), { env: { ...LISTED, MCP_PRUNER_AUTH_TOKEN: 's3cret' } });
    const token = { ...CALL, authorization: 'Bearer s3cret' };
    expect(await asked(`${url}/rpc`, 'POST', { origin: PAGE, ...token })).toMatchObject({ status: 200, allowed: PAGE });
    expect(await asked(`${url}/mcp`, 'POST', { origin: PAGE, ...CALL })).toMatchObject({ status: 401, allowed: PAGE });
    for (const origin of ['https://evil.example', 'https://page.example.evil', 'null']) {
      const refused = { status: 403, allowed: undefined };
      expect(await asked(`${url}/rpc`, 'OPTIONS', { origin, ...PREFLIGHT })).toMatchObject(refused);
      expect(await asked(`${url}/rpc`, 'POST', { origin, ...token })).toMatchObject(refused);
    }
    expect(await asked(`${url}/rpc`, 'POST', token)).toMatchObject({ status: 200, allowed: undefined });
  });

  it('may send preflights to a server with access keys as well, and read why a key is refused', async () => {
    const place = await onFile();
    const stage = await startTeam(place, LISTED);
    const key = await newKey(place, 'ada');
    for (const path of ['/rpc', `/k/${key}/rpc`]) {
      const { status, allowed } = await asked(`${stage.url}${path}`, 'OPTIONS', { origin: PAGE, ...PREFLIGHT });
      expect([status, allowed]).toEqual([204, PAGE]);
    }
    const page = { origin: PAGE, ...CALL };
    expect(await asked(`${stage.url}/rpc`, 'POST', page)).toMatchObject({ status: 401, allowed: PAGE });
    expect(await asked(`${stage.url}/k/${key}/rpc`, 'POST', page)).toMatchObject({ status: 200, allowed: PAGE });
    expect(await asked(`${stage.url}/v1/models`, 'OPTIONS', { origin: PAGE, ...PREFLIGHT })).toMatchObject({
      status: 401,
      allowed: undefined,
    });
  });
});
