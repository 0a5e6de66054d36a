import net from 'node:net';
import { text } from 'node:stream/consumers';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { type LocalGuardOptions, localGuard } from '../../src/mcp/guard.ts';
import { listen, send } from './helpers/rpc-server.ts';

async function guarded(
  options: LocalGuardOptions,
): Promise<(headers: Record<string, string>, path?: string) => Promise<[number, string]>> {
  const app = express();
  app.use(localGuard(options), (_req, res) => {
    res.json({ passed: true });
  });
  const port = await listen(app);
  return async (headers, path = '/') => {
    const { status, body } = await send(port, null, { method: 'GET', path, headers });
    const parsed = JSON.parse(body) as { passed?: boolean; error?: { type: string } };
    return [status, parsed.error?.type ?? 'passed'];
  };
}

describe('wrong tokens', () => {
  it('are answered more slowly each time, without delaying the right token', async () => {
    const ask = await guarded({ allowedHosts: [], bearerToken: 'the-right-token' });
    const wrong = { authorization: 'Bearer wrong' };
    const answered: string[] = [];
    const guesses = Array.from({ length: 12 }, async () => {
      expect(await ask(wrong)).toEqual([401, 'unauthorized']);
      answered.push('wrong');
    });
    await expect.poll(() => answered.length).toBeGreaterThanOrEqual(5);
    expect(await ask({ authorization: 'Bearer the-right-token' })).toEqual([200, 'passed']);
    answered.push('right');
    await Promise.all(guesses);
    expect(answered.indexOf('right')).toBeLessThan(12);
  });
});

describe('localGuard', () => {
  it.each([
    '127.0.0.1',
    '127.0.0.1:8006',
    '127.8.9.10:1',
    'localhost',
    'LocalHost:3000',
    '[::1]',
    '[::1]:8006',
    'pruner.lan',
    'Pruner.LAN:9',
    'box:8006',
  ])('admits a request to %s', async (host) => {
    const ask = await guarded({ allowedHosts: ['Pruner.lan', 'box:8006'] });
    expect(await ask({ host })).toEqual([200, 'passed']);
  });

  it.each([
    'evil.example.com',
    'evil.example.com:8006',
    '127.0.0.1.evil.com',
    'localhost.evil.com',
    '192.168.1.5:8006',
    'box:8007',
    'box',
    '[::2]',
    'a@127.0.0.1',
  ])('refuses a request that was addressed to "%s"', async (host) => {
    const ask = await guarded({ allowedHosts: ['pruner.lan', 'box:8006'] });
    expect(await ask({ host })).toEqual([403, 'forbidden_host']);
  });

  it.each([
    ['localhost:8006', 'http://localhost:8006'],
    ['[::1]', 'https://[::1]'],
    ['pruner.lan', 'https://pruner.lan'],
    ['localhost:8006', 'http://localhost:3000'],
  ])('admits its own page, or a listed one (%s, %s)', async (host, origin) => {
    const ask = await guarded({ allowedHosts: ['pruner.lan'], allowedOrigins: ['http://localhost:3000'] });
    expect(await ask({ host, origin })).toEqual([200, 'passed']);
  });

  it('refuses a page of another port of this machine, even if the browser sends no Origin', async () => {
    for (const options of [{ allowedHosts: [] }, { allowedHosts: [], bearerToken: 's3cret' }]) {
      const ask = await guarded(options);
      const headers = { host: 'localhost:8006', authorization: 'Bearer s3cret' };
      expect(await ask({ ...headers, origin: 'http://localhost:3000' })).toEqual([403, 'forbidden_origin']);
      expect(await ask({ ...headers, 'sec-fetch-site': 'same-site' })).toEqual([403, 'forbidden_origin']);
      expect(await ask({ ...headers, 'sec-fetch-site': 'none' })).toEqual([200, 'passed']);
    }
  });

  it.each([
    'http://evil.example.com',
    'https://localhost.evil.com',
    'null',
    '',
    'file://',
    'localhost',
    'chrome-extension://localhost',
    'http://localhost@evil.com',
  ])('refuses a page of "%s"', async (origin) => {
    const ask = await guarded({ allowedHosts: [] });
    expect(await ask({ host: 'localhost', origin })).toEqual([403, 'forbidden_origin']);
  });

  it('requires the token if one is configured, whatever host name was used', async () => {
    const ask = await guarded({ allowedHosts: [], bearerToken: 's3cret' });
    expect(await ask({ host: '192.168.1.5:8006', authorization: 'Bearer s3cret' })).toEqual([200, 'passed']);
    expect(await ask({ host: 'localhost', authorization: 'bearer s3cret' })).toEqual([200, 'passed']);
    for (const authorization of ['Bearer s3cre', 'Bearer s3cret2', 'Bearer', 'Bearer ', 'Basic s3cret', 's3cret', '']) {
      expect(await ask({ host: 'localhost', authorization })).toEqual([401, 'unauthorized']);
    }
    expect(await ask({ host: 'localhost' })).toEqual([401, 'unauthorized']);
    expect(await ask({ host: 'localhost', authorization: 'Bearer s3cret', origin: 'http://evil.com' })).toEqual([
      403,
      'forbidden_origin',
    ]);
  });

  it('accepts the token in the URL for clients that cannot set headers', async () => {
    const ask = await guarded({ allowedHosts: [], bearerToken: 's3cr+t', tokenInUrl: true });
    const host = 'localhost';
    expect(await ask({ host }, '/?tools=recover_text&token=s3cr%2Bt')).toEqual([200, 'passed']);
    for (const path of ['/?token=s3cr', '/?token=', '/?token', '/?tokens=s3cr%2Bt', '/s3cr%2Bt', '/?token=%ff']) {
      expect(await ask({ host }, path)).toEqual([401, 'unauthorized']);
    }
    expect(await ask({ host, authorization: 'Bearer wrong' }, '/?token=s3cr%2Bt')).toEqual([401, 'unauthorized']);
    const headerOnly = await guarded({ allowedHosts: [], bearerToken: 's3cr+t' });
    expect(await headerOnly({ host }, '/?token=s3cr%2Bt')).toEqual([401, 'unauthorized']);
  });

  it('refuses a request without a Host header', async () => {
    const app = express();
    app.use(localGuard({ allowedHosts: [] }));
    const socket = net.connect(await listen(app), '127.0.0.1');
    socket.end('GET / HTTP/1.0\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('explains how to authenticate, and never repeats the sent token', async () => {
    const app = express();
    app.use(localGuard({ allowedHosts: [], bearerToken: 's3cret' }));
    const raw = await send(await listen(app), null, {
      method: 'GET',
      path: '/',
      headers: { authorization: 'Bearer guess' },
    });
    expect(raw.headers['www-authenticate']).toBe('Bearer realm="mcp-pruner"');
    expect(raw.body).not.toContain('guess');
  });

  it('does not start with an empty token, which anyone could guess', () => {
    expect(() => localGuard({ allowedHosts: [], bearerToken: '' })).toThrow('empty');
  });
});
