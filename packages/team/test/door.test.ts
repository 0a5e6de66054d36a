import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { SocketClient } from '../../../test/helpers/socket-client.ts';
import { until } from '../../../test/helpers/until.ts';
import { send } from '../../../test/helpers/wire.ts';
import { hashOfKey } from '../src/keys/key-text.ts';
import { aLog, keys, Member, newKey, onFile, PLACES, startTeam } from './team.ts';

const PROVIDER = { authorization: 'Bearer sk-provider' };
const typeOf = (body: Buffer) =>
  JSON.parse(body.toString()) as { error: { type: string; code?: unknown; message: string } };

describe('a server that requires keys', () => {
  it("rejects requests without a key on every path, with an error in the wire's format", async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    const ask = async (
      path: string,
      headers: Record<string, string> = {},
      body: Buffer | null = chatBody(oneResult('x')),
    ) => {
      const { status, body: answer } = await send(`${stage.url}${path}`, {
        method: body === null ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        ...(body !== null && { body }),
      });
      return [status, answer.toString()] as const;
    };
    const paths = ['/v1/chat/completions', '/v1/responses', '/responses', '/v1/models', '/v1/files', '/rpc', '/prune'];
    const hidden = [
      '/page/v1/messages',
      '/metrics/v1/messages',
      '/page/v1/messages/count_tokens',
      '//v1/messages',
      '/rpc/v1/messages',
    ];
    for (const path of [...paths, ...hidden, '/child/00000000000000000000000000000000/v1/chat/completions']) {
      expect([path, (await ask(path, { ...PROVIDER, 'x-mcp-pruner-child': '0'.repeat(32) }))[0]]).toEqual([path, 401]);
    }
    const [, messages] = await ask('/v1/messages', PROVIDER, messagesBody(oneCall('x')));
    expect(JSON.parse(messages)).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
    const [, gemini] = await ask('/v1beta/models/g:generateContent', {}, Buffer.from('{}'));
    expect(JSON.parse(gemini)).toMatchObject({ error: { code: 401, status: expect.any(String) } });
    expect(JSON.parse((await ask('/v1/chat/completions'))[1])).toMatchObject({ error: { code: 'key_missing' } });
    const wrong = `mpk_${'A'.repeat(43)}`;
    const wrongs = [wrong, `${wrong}A`, 'mpk_', 'x', `${wrong.slice(0, -1)}=`, 'Bearer x'];
    const answers = wrongs.flatMap((shown) => [
      ask('/v1/chat/completions', { 'x-mcp-pruner-key': shown }),
      ask(`/k/${encodeURIComponent(shown)}/v1/chat/completions`),
    ]);
    expect((await Promise.all(answers)).map(([status]) => status)).toEqual(answers.map(() => 401));
    expect((await ask('/health', {}, null))[0]).toBe(200);
    expect((await ask('/health/ready', {}, null))[0]).toBe(200);
    expect((await ask('/', {}, null))[0]).toBe(200); // the page, which asks by itself
    expect((await ask('/page/api/requests', {}, null))[0]).toBe(401);
    expect((await ask('/metrics', {}, null))[0]).toBe(401);
    expect(stage.upstream.requests).toEqual([]);
    const socket = new SocketClient(`${stage.url.replace('http', 'ws')}/v1/responses`, [], { headers: PROVIDER });
    expect(await socket.closed).toEqual([1006, '']);
    expect(stage.upstream.requests).toEqual([]);
  });

  it('accepts a key in a header or in the base URL on every wire, and never forwards it', async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    const key = await newKey(place, 'web');
    const log = aLog(1);
    const requests: readonly (readonly [string, Buffer])[] = [
      ['/v1/chat/completions?beta=1', chatBody(oneResult(log))],
      ['/v1/messages', messagesBody(oneCall(log))],
      ['/v1/responses', Buffer.from('{"model":"m","input":"hello"}')],
      ['/responses', Buffer.from('{"model":"m","input":"hello"}')],
      ['/v1beta/models/g:generateContent', Buffer.from('{"contents":[]}')],
      ['/v1/embeddings', Buffer.from('{"input":"x"}')],
    ];
    for (const [path, body] of requests) {
      for (const [url, headers] of [
        [path, { 'x-mcp-pruner-key': key }],
        [`/k/${key}${path}`, {}],
        [`/run/${'a'.repeat(32)}/k/${key}${path}`, {}],
      ] as const) {
        const { status } = await send(`${stage.url}${url}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...PROVIDER, ...headers },
          body,
        });
        expect([url.replace(key, ''), status]).toEqual([url.replace(key, ''), 200]);
      }
    }
    const { status, body } = await send(`${stage.url}/k/${key}/nothing/here`, { headers: {} });
    expect([status, body.toString().includes(key)]).toEqual([404, false]);
    // one that stands where the provider's belongs goes no further
    for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }, { 'x-goog-api-key': key }]) {
      const own = { 'content-type': 'application/json', 'x-mcp-pruner-key': key, ...headers };
      const refused = await send(`${stage.url}/v1/models`, { headers: own });
      expect([refused.status, typeOf(refused.body).error.code]).toEqual([401, 'key_misplaced']);
    }
    const inQuery = await send(`${stage.url}/v1/models?key=${key}`, { headers: { 'x-mcp-pruner-key': key } });
    expect(inQuery.status).toBe(401);
    expect(stage.upstream.requests).toHaveLength(3 * requests.length);
    const seen = stage.upstream.requests.map(({ url, rawHeaders, body }) => [url, rawHeaders, body.toString()]);
    expect(JSON.stringify(seen)).not.toContain(key.slice(4));
    expect(JSON.stringify(seen)).not.toMatch(/x-mcp-pruner|\/k\//i);
    const written = await until(() => stage.log().split('model request').length > 8 && stage.log());
    expect(written).not.toContain(key.slice(4));
    await until(() => textOf(dirname(place.MCP_PRUNER_DB_PATH ?? '')).includes(hashOfKey(key)));
    expect(textOf(dirname(place.MCP_PRUNER_DB_PATH ?? ''))).not.toContain(key.slice(4));
  });

  it('identifies a key by its hash, and never compares key texts', () => {
    const key = `mpk_${'a'.repeat(43)}`;
    const near = `mpk_${'a'.repeat(42)}b`;
    const distance = (a: string, b: string) => [...a].filter((digit, i) => digit !== b[i]).length;
    // one character apart, and as far apart as two that have nothing in common
    expect(distance(hashOfKey(key), hashOfKey(near))).toBeGreaterThan(40);
    expect(hashOfKey(key)).toMatch(/^[0-9a-f]{64}$/);
  });

  it('adds its own provider key to requests without one, except to requests from foreign pages', async () => {
    const stage = await startTeam(await onFile(), {
      MCP_PRUNER_REQUIRE_KEY: 'false',
      MCP_PRUNER_UPSTREAM_API_KEY: 'sk-own',
      MCP_PRUNER_ANTHROPIC_API_KEY: 'ak-own',
    });
    const chat = chatBody(oneResult('x'));
    const sent = async (path: string, headers: Record<string, string>, body: Buffer | null = chat) => {
      const options = body === null ? {} : { method: 'POST', body };
      await send(`${stage.url}${path}`, { ...options, headers: { 'content-type': 'application/json', ...headers } });
      const { authorization = null, 'x-api-key': apiKey = null } = stage.upstream.requests.at(-1)?.headers ?? {};
      return [authorization, apiKey];
    };
    expect(await sent('/v1/chat/completions', {})).toEqual(['Bearer sk-own', null]);
    expect(await sent('/v1/chat/completions', { authorization: '' })).toEqual(['Bearer sk-own', null]);
    expect(await sent('/v1/chat/completions', PROVIDER)).toEqual(['Bearer sk-provider', null]);
    expect(await sent('/v1/models', {}, null)).toEqual(['Bearer sk-own', null]);
    expect(await sent('/v1/models', { 'anthropic-version': '2023-06-01' }, null)).toEqual([null, 'ak-own']);
    expect(await sent('/v1/messages', {}, messagesBody(oneCall('x')))).toEqual([null, 'ak-own']);
    expect(await sent('/v1/messages', { 'x-api-key': 'ak-mine' }, messagesBody(oneCall('x')))).toEqual([
      null,
      'ak-mine',
    ]);
    expect(await sent('/v1beta/models/g:generateContent', {}, Buffer.from('{}'))).toEqual([null, null]);
    const page = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect(await sent('/v1/chat/completions', page)).toEqual([null, null]);
    expect(await sent('/v1/models', page, null)).toEqual([null, null]);
  });

  it('requires no key unless configured, and never shows a URL that contains a key', async () => {
    const proxy = await startProxy('http://127.0.0.1:9/v1');
    const key = `mpk_${'A'.repeat(43)}`;
    const answer = await fetch(`${proxy.url}/k/${key}/v1/models`);
    expect([answer.status, (await answer.text()).includes(key)]).toEqual([404, false]);
    expect(await proxy.logText()).not.toContain(key);
  });
});

describe.each(PLACES)('keys on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)(
    'stop working on every server within a second once they are revoked, replaced or expired',
    async () => {
      const place = await open();
      const stages = await Promise.all([startTeam(place), startTeam(place)]);
      const [revoked, rotated, short] = await Promise.all([
        newKey(place, 'a'),
        newKey(place, 'b'),
        keys(place, 'create', '--name', 'short', '--project', 'c', '--expires', '1m'),
      ]);
      const status = async (key: string) =>
        Promise.all(stages.map(async (stage) => (await new Member(stage, key).send('/page/api/session')).status));
      for (const key of [revoked, rotated, short]) expect(await status(key)).toEqual([200, 200]);
      await keys(place, 'revoke', 'of a');
      await until(async () => (await status(revoked)).every((one) => one === 401));
      const fresh = await keys(place, 'rotate', 'of b');
      await until(async () => (await status(rotated)).every((one) => one === 401));
      expect(await status(fresh)).toEqual([200, 200]);
      expect(await status(short)).toEqual([200, 200]);
      const { body } = await new Member(stages[0], revoked).send('/v1/models');
      expect(typeOf(body).error.code).toBe('key_revoked');
      const listed = (await keys(place, 'list', '--json'))
        .split('\n')
        .map((line) => JSON.parse(line) as { state: string });
      expect(listed.filter(({ state }) => state === 'revoked')).toHaveLength(1);
      expect(listed.filter(({ state }) => state === 'open')).toHaveLength(2);
    },
  );

  it.skipIf(!runs)('leave an audit trail of creations, revocations and refusals', async () => {
    const place = await open();
    const stage = await startTeam(place);
    const all = new Member(stage, await newKey(place, '*'));
    const gone = await newKey(place, 'gone');
    await keys(place, 'revoke', 'of gone');
    const nobody = new Member(stage, `mpk_${'B'.repeat(43)}`);
    await Promise.all(Array.from({ length: 60 }, () => nobody.send('/rpc', {})));
    await until(async () => (await new Member(stage, gone).send('/rpc', {})).status === 401);
    const events = await until(async () => {
      const { events } = (await all.call('events_watch', { run_id: 'keys', limit: 500 })) as { events: Audit[] };
      return events.some(({ payload }) => payload.reason === 'key_revoked') && events;
    });
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== 'key_refused')).toEqual([
      'key_created',
      'key_created',
      'key_revoked',
    ]);
    const refused = events.filter(({ kind }) => kind === 'key_refused');
    expect(refused.filter(({ payload }) => payload.reason === 'key_unknown')).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('BBBB');
  });
});

interface Audit {
  readonly kind: string;
  readonly payload: { readonly reason?: string };
}

/** All that lies in a folder, read as it is. */
function textOf(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('');
}
