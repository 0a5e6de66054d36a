import { describe, expect, it } from 'vitest';
import { mayBeSession } from '../../src/proxy/unknown-path.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { send } from '../helpers/wire.ts';

const LEAST = 4_000;

function headersOf(bytes: number) {
  return { 'content-type': 'application/json; charset=utf-8', 'content-length': `${bytes}` };
}

describe('a request on an unknown path', () => {
  it.each([
    '/v1/completions',
    '/v1/engines/m/chat/completions',
    '/v1/openai/deployments/m/chat/completions',
    '/v1beta/interactions',
    '/v1beta/models/m:streamSomethingNew',
  ])('may belong to a session: %s', (path) => {
    expect(mayBeSession('POST', path, headersOf(LEAST), LEAST)).toBe(true);
    expect(mayBeSession('POST', path, { 'content-type': 'application/json' }, LEAST)).toBe(true);
    expect(mayBeSession('GET', path, headersOf(LEAST), LEAST)).toBe(false);
    expect(mayBeSession('POST', path, headersOf(LEAST - 1), LEAST)).toBe(false);
    expect(mayBeSession('POST', path, { 'content-type': 'multipart/form-data; boundary=x' }, LEAST)).toBe(false);
    expect(mayBeSession('POST', path, {}, LEAST)).toBe(false);
  });

  it.each([
    '/v1/embeddings',
    '/v1/messages/batches',
    '/v1/files',
    '/v1/vector_stores/v/files',
    '/v1beta/models/m:batchEmbedContents',
    '/v1beta/models/m:embedContent',
    '/v1beta/models/m:countTokens',
    '/v1beta/cachedContents',
  ])('does not belong to a session: %s', (path) => {
    expect(mayBeSession('POST', path, headersOf(1_000_000), LEAST)).toBe(false);
  });

  it('is forwarded unchanged and counted, and the log names its path without its query', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const proxy = await startProxy(upstream);
    const body = Buffer.from(JSON.stringify({ prompt: 'line\n'.repeat(2_000) }));
    const headers = { 'content-type': 'application/json' };
    const answer = await send(`${proxy.url}/v1/completions?key=secret`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    expect(upstream.last.body.equals(body)).toBe(true);
    await send(`${proxy.url}/v1/embeddings`, { method: 'POST', headers, body });
    const health = JSON.parse((await send(`${proxy.url}/health`)).body.toString());
    expect(health.not_understood).toEqual({ path_not_understood: 1 });
    const logged = (await proxy.logLines()).filter(({ reason }) => reason === 'path_not_understood');
    expect(logged).toMatchObject([{ path: '/v1/completions' }]);
    expect(JSON.stringify(await proxy.logLines())).not.toContain('secret');
  });
});
