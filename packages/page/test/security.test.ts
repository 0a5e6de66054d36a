import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settingsOf } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { send, type WireAnswer } from '../../../test/helpers/wire.ts';
import { openStage, type Stage } from './stage.ts';

const TOKEN = 'a-token-that-nobody-guesses-0123456789';
const READINGS = [
  'overview',
  'requests',
  'conversations',
  'tools',
  'store',
  'prunes',
  'settings',
  'fleet',
  'live',
] as const;
const ACTIONS = ['recover', 'pin', 'unpin', 'stash', 'delete', 'doctor', 'leave'] as const;

const jsonOf = (answer: WireAnswer) => JSON.parse(answer.body.toString()) as Record<string, unknown>;
const typeOf = (answer: WireAnswer) => (jsonOf(answer).error as { type: string }).type;

let open: Stage;
let locked: Stage;
beforeAll(async () => {
  [open, locked] = await Promise.all([openStage(), openStage({ env: { MCP_PRUNER_AUTH_TOKEN: TOKEN } })]);
});
afterAll(() => Promise.all([open?.close(), locked?.close()]));

const read = (stage: Stage, path: string, headers: Record<string, string> = {}) =>
  send(`${stage.url}${path}`, { headers });
const act = (stage: Stage, action: string, headers: Record<string, string> = {}, body: object = {}) =>
  send(`${stage.url}/page/api/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const pageToken = async (stage: Stage, headers: Record<string, string> = {}) =>
  String(jsonOf(await read(stage, '/page/api/session', headers)).pageToken);

describe('the page', () => {
  it('runs only its own files, and connects to no other host', async () => {
    const shell = await read(open, '/');
    expect([shell.status, shell.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    for (const path of ['/', '/page/app.js', '/page/style.css', '/page/icon.svg', '/page/api/session', '/page/none']) {
      const { headers } = await read(open, path);
      expect([path, headers['content-security-policy']]).toEqual([path, expect.stringContaining("default-src 'self'")]);
      expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' });
    }
    const html = shell.body.toString();
    expect(html).not.toMatch(/<style|style=|onload=|https?:\/\//);
    expect([...html.matchAll(/<script([^>]*)>([^<]*)/g)].map(([, , inside]) => inside)).toEqual(['']);
  });

  it('is small: all its files together take less than 150 KB compressed', async () => {
    const files = await Promise.all(
      ['/', '/page/app.js', '/page/style.css', '/page/icon.svg'].map((path) => read(open, path)),
    );
    expect(files.reduce((sum, { body }) => sum + gzipSync(body).length, 0)).toBeLessThan(150_000);
  });

  it('is not loaded a second time if the browser has cached it', async () => {
    const { headers } = await read(open, '/page/app.js');
    expect((await read(open, '/page/app.js', { 'if-none-match': String(headers.etag) })).status).toBe(304);
  });

  it('refuses requests from other origins and for other host names, whatever they request', async () => {
    const foreign: readonly Record<string, string>[] = [
      { host: 'evil.example' },
      { host: 'evil.example:8006', origin: 'http://evil.example:8006' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:3000' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    ];
    const token = await pageToken(open);
    for (const headers of foreign) {
      for (const path of ['/', '/page/app.js', '/page/api/session', ...READINGS.map((name) => `/page/api/${name}`)])
        expect([headers, path, (await read(open, path, headers)).status]).toEqual([headers, path, 403]);
      for (const action of ACTIONS)
        expect((await act(open, action, { ...headers, 'x-mcp-pruner-page': token })).status).toBe(403);
    }
  });

  it('may be opened by a link from another page, but not under another host name', async () => {
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect((await read(open, '/', link)).status).toBe(200);
    expect((await read(open, '/', { ...link, host: 'evil.example' })).status).toBe(403);
    expect((await read(open, '/page/api/store', link)).status).toBe(403);
    expect((await read(open, '/', { ...link, 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  });

  it("performs no action without the page's token", async () => {
    const token = await pageToken(open);
    for (const action of ACTIONS) {
      const unproven: Record<string, string>[] = [{}, { 'x-mcp-pruner-page': `${token}x` }, { origin: open.url }];
      for (const headers of unproven)
        expect([action, typeOf(await act(open, action, headers))]).toEqual([action, 'page_token_needed']);
      const { status } = await act(open, action, { origin: open.url, 'x-mcp-pruner-page': token });
      expect([action, status]).toEqual([action, action === 'doctor' ? 200 : action === 'leave' ? 204 : 422]);
    }
    // a form of another page can send no header of its own, and none of these types is read
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
      expect(
        (
          await act(
            open,
            'pin',
            { 'content-type': type, 'x-mcp-pruner-page': token },
            { project: 'p', segments: ['s'] },
          )
        ).status,
      ).toBe(422);
  });

  it('sends no CORS header', async () => {
    for (const path of ['/', '/page/api/session', '/page/api/store']) {
      const { headers } = await read(open, path, { origin: open.url });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it.each([
    ['pin', { project: 'p' }],
    ['pin', { project: '', segments: ['seg_1'] }],
    ['pin', { project: 'p', segments: [] }],
    ['pin', { project: 'p', segments: ['seg_1'], more: 1 }],
    ['delete', { project: 'p', segments: ['seg_1'] }],
    ['delete', { project: 'p', segments: ['seg_1'], confirm: false }],
    ['recover', { prune_id: '../etc/passwd', start_line: 1, end_line: 2 }],
    ['recover', { prune_id: 'prn_0123456789AB', start_line: 0, end_line: 2 }],
  ])('refuses %s with %j', async (action, body) => {
    const { status } = await act(open, action, { 'x-mcp-pruner-page': await pageToken(open) }, body);
    expect(status).toBe(422);
  });

  it('answers 404 to unknown items and 422 to invalid parameters', async () => {
    expect((await read(open, '/page/api/text?id=prn_0123456789AB')).status).toBe(404);
    expect((await read(open, '/page/api/text?id=x')).status).toBe(422);
    expect((await read(open, '/page/api/conversation?name=none')).status).toBe(404);
    expect((await read(open, '/page/api/requests?before=-1')).status).toBe(422);
    expect((await read(open, '/page/api/none')).status).toBe(404);
    expect((await read(open, '/page/../../package.json')).status).toBe(404);
  });
});

describe('the page of a server with a token', () => {
  it('shows nothing and does nothing until its user has presented the token', async () => {
    expect((await read(locked, '/')).status).toBe(200);
    expect(jsonOf(await read(locked, '/page/api/session'))).toEqual({ known: false, asksForToken: true });
    for (const path of READINGS) expect((await read(locked, `/page/api/${path}`)).status).toBe(401);
    for (const action of ACTIONS) expect((await act(locked, action)).status).toBe(401);
    for (const token of ['', 'wrong', `${TOKEN} `, TOKEN.slice(1)])
      expect((await act(locked, 'session', {}, { token })).status).toBe(401);
  });

  it('sets a lasting cookie that no script and no other site can use', async () => {
    const { status, headers } = await act(locked, 'session', { origin: locked.url }, { token: TOKEN });
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect(status).toBe(200);
    expect(cookie).toMatch(/; Path=\/page; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(TOKEN);
    const known = { cookie: cookie.split(';')[0] ?? '' };
    expect((await read(locked, '/page/api/store', known)).status).toBe(200);
    expect(typeOf(await act(locked, 'doctor', known))).toBe('page_token_needed');
    const withToken = { ...known, 'x-mcp-pruner-page': await pageToken(locked, known) };
    expect((await act(locked, 'doctor', withToken)).status).toBe(200);
    // the page token of one session is none of another, and the cookie alone opens no other door
    expect(
      (
        await act(locked, 'doctor', {
          authorization: `Bearer ${TOKEN}`,
          'x-mcp-pruner-page': withToken['x-mcp-pruner-page'],
        })
      ).status,
    ).toBe(403);
    expect((await send(`${locked.url}/metrics`, { headers: known })).status).toBe(401);
    await locked.restart();
    expect((await read(locked, '/page/api/store', known)).status).toBe(200);
    expect(typeOf(await act(locked, 'doctor', withToken))).toBe('page_token_needed'); // of the process before
  });

  it('rejects a cookie that was changed or forged or has expired', async () => {
    const { headers } = await act(locked, 'session', {}, { token: TOKEN });
    const [pair = ''] = (headers['set-cookie']?.[0] ?? '').split(';');
    const [name = '', value = ''] = pair.split('=');
    const [until = '', seal = ''] = value.split('.');
    for (const wrong of [
      `${Number(until) + 1}.${seal}`,
      `${until}.`,
      `1.${seal}`,
      `.${seal}`,
      until,
      `${value}x`,
      TOKEN,
    ])
      expect([wrong, (await read(locked, '/page/api/store', { cookie: `${name}=${wrong}` })).status]).toEqual([
        wrong,
        401,
      ]);
    expect((await read(locked, '/page/api/store', { cookie: `a=b; ${pair}; c=d` })).status).toBe(200);
  });

  it('refuses tokens that a page of another site submits', async () => {
    expect((await act(locked, 'session', { origin: 'https://evil.example' }, { token: TOKEN })).status).toBe(403);
  });

  it('never shows a secret', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const { body } = await read(locked, '/page/api/settings', headers);
    expect(body.toString()).not.toContain(TOKEN);
    const { settings } = JSON.parse(body.toString()) as { settings: { env: string; value: unknown }[] };
    expect(settings.find(({ env }) => env === 'MCP_PRUNER_AUTH_TOKEN')?.value).toBe('***');
  });
});

describe('pages that follow live events', () => {
  it('are notified immediately when the server stops, and do not delay its exit', async () => {
    const stage = await openStage({ env: { MCP_PRUNER_DRAIN_TIMEOUT_MS: '3600000' } });
    const stream = await fetch(`${stage.url}/page/api/live`);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const ended = stream.text();
    await stage.close();
    expect(await ended).toContain('retry: 2000');
  });

  it('are limited in number, and free their slots when they disconnect', async () => {
    const leave = new AbortController();
    const follow = () => fetch(`${open.url}/page/api/live`, { signal: leave.signal });
    const streams = await Promise.all(Array.from({ length: 16 }, follow));
    expect(streams.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect((await read(open, '/page/api/live')).status).toBe(503);
    leave.abort();
    await until(async () => {
      const again = new AbortController();
      const { status } = await fetch(`${open.url}/page/api/live`, { signal: again.signal });
      again.abort();
      return status === 200;
    });
  });
});

describe('the page setting', () => {
  it('is on by default on loopback, and elsewhere only if configured', () => {
    const there = (env: Record<string, string>) => settingsOf({ MCP_PRUNER_AUTH_TOKEN: TOKEN, ...env }).page;
    expect(there({})).toBe(true);
    expect(there({ MCP_PRUNER_HOST: '::1' })).toBe(true);
    expect(there({ MCP_PRUNER_HOST: '0.0.0.0' })).toBe(false);
    expect(there({ MCP_PRUNER_HOST: '0.0.0.0', MCP_PRUNER_PAGE: 'true' })).toBe(true);
    expect(there({ MCP_PRUNER_PAGE: 'false' })).toBe(false);
  });

  it('disables all paths of the page if it is off', async () => {
    const stage = await openStage({ env: { MCP_PRUNER_PAGE: 'false' } });
    try {
      for (const path of ['/', '/page/app.js', '/page/api/session']) expect((await read(stage, path)).status).toBe(404);
    } finally {
      await stage.close();
    }
  });
});
