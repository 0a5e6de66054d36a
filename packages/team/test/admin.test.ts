import { describe, expect, it } from 'vitest';
import { until } from '../../../test/helpers/until.ts';
import { send } from '../../../test/helpers/wire.ts';
import { keys, Member, onFile, PLACES, startTeam } from './team.ts';

const TOKEN = 'an-admin-token-of-the-test';
const ADMIN = { MCP_PRUNER_ADMIN_TOKEN: TOKEN };

interface Page {
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly key?: string;
    readonly state: string;
  }[];
  readonly next: string | null;
}

function adminOf(url: string, token = TOKEN) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await send(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: JSON.parse(answer.body.toString()) as unknown };
  };
}

describe('the admin API', () => {
  it('requires its own token: keys, other tokens and web pages are refused', async () => {
    const place = await onFile();
    const stage = await startTeam(place, { ...ADMIN, MCP_PRUNER_AUTH_TOKEN: 'another-token-of-the-server' });
    const admin = adminOf(stage.url);
    expect(await admin('GET', '/keys')).toEqual({ status: 200, json: { keys: [], next: null } });
    expect((await adminOf(stage.url, 'another-token-of-the-server')('GET', '/keys')).status).toBe(401);
    const operator = new Member(stage, await keys(place, 'create', '--name', 'ops', '--project', '*'));
    expect((await operator.send('/admin/v1/keys')).status).toBe(401);
    expect((await admin('GET', '/keys', undefined, { origin: 'https://elsewhere.example' })).status).toBe(403);
    const without = await startTeam(await onFile());
    expect((await adminOf(without.url)('GET', '/keys')).status).toBe(404);
    expect(without.upstream.requests).toEqual([]);
  });

  it('answers broken input with an error in JSON', async () => {
    const stage = await startTeam(await onFile(), ADMIN);
    const ask = (body: string | Buffer, headers: Record<string, string> = {}) =>
      send(`${stage.url}/admin/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
        body,
      });
    const broken = [ask('{'), ask('x'.repeat(3_000_000)), ask('abc', { 'content-encoding': 'gzip' })];
    for (const answer of await Promise.all(broken)) {
      expect(JSON.parse(answer.body.toString())).toMatchObject({ error: { type: 'invalid_request' } });
      expect(answer.body.toString()).not.toMatch(/<html|node_modules|\\n\s+at /);
    }
  });

  it('serves an OpenAPI description that matches how requests are checked', async () => {
    const stage = await startTeam(await onFile(), ADMIN);
    const admin = adminOf(stage.url);
    const { json } = await admin('GET', '/openapi.json');
    expect(json).toMatchObject({
      openapi: '3.1.0',
      paths: {
        '/admin/v1/keys': {
          get: {
            parameters: [
              { name: 'after', in: 'query' },
              { name: 'limit', schema: { maximum: 1_000 } },
            ],
          },
          post: {
            requestBody: {
              content: {
                'application/json': {
                  schema: {
                    properties: { keys: { items: { required: ['name', 'projects'], additionalProperties: false } } },
                  },
                },
              },
            },
            responses: { '201': {}, '401': {}, '422': {} },
          },
        },
        '/admin/v1/keys/{id}': { patch: { parameters: [{ name: 'id', in: 'path' }] }, delete: {} },
        '/admin/v1/spend': { get: {} },
      },
    });
    for (const [body, words] of [
      [{ keys: [{ name: 'a' }] }, 'projects'],
      [{ keys: [{ name: 'a', projects: ['p'], dollars: 5 }] }, 'dollars'],
      [{ keys: [{ name: 'a', projects: ['*', 'p'] }] }, 'opens all'],
      [{ keys: [] }, 'keys'],
    ] as const) {
      const refused = await admin('POST', '/keys', body);
      expect([refused.status, JSON.stringify(refused.json)]).toEqual([422, expect.stringContaining(words)]);
    }
    expect((await admin('GET', '/keys?limit=0')).status).toBe(422);
    expect((await admin('GET', '/nothing')).status).toBe(404);
    expect((await admin('DELETE', '/keys/key_unknown')).status).toBe(404);
  });
});

describe.each(PLACES)('keys managed through the admin API on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('are issued in bulk, listed in pages, changed, replaced and revoked immediately', async () => {
    const place = await open();
    const stage = await startTeam(place, ADMIN);
    const admin = adminOf(stage.url);
    const many = 12_000;
    const issued: Page['keys'][number][] = [];
    for (let at = 0; at < many; at += 1_000) {
      const body = Array.from({ length: 1_000 }, (_, i) => ({ name: `dev ${at + i}`, projects: ['web'] }));
      const { status, json } = await admin('POST', '/keys', { keys: body });
      expect(status).toBe(201);
      issued.push(...(json as Page).keys);
    }
    const listed: string[] = [];
    for (let path = '/keys?limit=1000'; path !== ''; ) {
      const { keys: page, next } = (await admin('GET', path)).json as Page;
      listed.push(...page.map(({ id }) => id));
      path = next === null ? '' : `/keys?limit=1000&after=${next}`;
    }
    expect(listed.toSorted()).toEqual(issued.map(({ id }) => id).toSorted());
    const last = issued.at(-1);
    const member = new Member(stage, last?.key ?? '');
    await until(async () => (await member.send('/v1/models')).status === 200);
    const changed = await admin('PATCH', `/keys/${last?.id}`, { projects: ['api'], requests_per_minute: 5 });
    expect(changed.json).toMatchObject({
      id: last?.id,
      projects: ['api'],
      requests_per_minute: 5,
      name: 'dev 11999',
    });
    await until(
      async () => (await member.send('/v1/models', undefined, { 'x-mcp-pruner-project': 'web' })).status === 403,
    );
    const rotated = (await admin('POST', `/keys/${last?.id}/rotate`)).json as { key: string };
    await until(async () => (await member.send('/v1/models')).status === 401);
    await until(async () => (await new Member(stage, rotated.key).send('/v1/models')).status !== 401);
    expect((await admin('DELETE', `/keys/${last?.id}`)).status).toBe(200);
    await until(async () => (await new Member(stage, rotated.key).send('/v1/models')).status === 401);
    const trail = stage.log();
    for (const { key } of [...issued.slice(0, 5), rotated]) expect(trail).not.toContain(key);
  });
});
