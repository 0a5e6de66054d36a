import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { startSocketUpstream } from '../../../test/helpers/fake-socket-upstream.ts';
import { PRUNE_OPTIONS } from '../../../test/helpers/prune-options.ts';
import { openSocket, SocketClient } from '../../../test/helpers/socket-client.ts';
import { until } from '../../../test/helpers/until.ts';
import { send } from '../../../test/helpers/wire.ts';
import { aLog, keys, Member, members, newKey, onFile, startTeam } from './team.ts';

const TOKEN = 'a-token-that-nobody-guesses-0123456789';

describe('the view of a key', () => {
  it('is opened on the page by entering the key once, with a cookie that ends with the key', async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    const [web, api] = await Promise.all([newKey(place, 'web'), newKey(place, 'api')]);
    await new Member(stage, web).prunes(stage, aLog(1));
    const own = { origin: stage.url, 'content-type': 'application/json' };
    const enter = (token: string) =>
      send(`${stage.url}/page/api/session`, { method: 'POST', headers: own, body: JSON.stringify({ token }) });
    const see = async (cookie: string | undefined, path: string) => {
      const { status, body } = await send(`${stage.url}/page/api/${path}`, { headers: { cookie: cookie ?? '' } });
      return [status, JSON.parse(body.toString())] as const;
    };
    expect(await see(undefined, 'session')).toEqual([200, { known: false, asksForToken: true }]);
    expect((await enter(`mpk_${'A'.repeat(43)}`)).status).toBe(401);
    const [set] = (await enter(web)).headers['set-cookie'] ?? [];
    expect(set).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(set).not.toContain(web.slice(4));
    const cookie = set?.split(';')[0];
    const seen = await until(async () => {
      const [, page] = (await see(cookie, 'conversations')) as [number, { conversations: { project: string }[] }];
      return page.conversations.length > 0 && page.conversations;
    });
    expect(seen.map(({ project }) => project)).toEqual(['web']);
    const other = (await enter(api)).headers['set-cookie']?.[0]?.split(';')[0];
    expect(await see(other, 'conversations')).toMatchObject([200, { conversations: [] }]);
    // nobody changes whose cookie it is, and none outlives its key
    const forged = cookie?.replace(/\.key_[^.]+/, `.${other?.split('.')[1]}`);
    expect((await see(forged, 'conversations'))[0]).toBe(401);
    await keys(place, 'revoke', 'of web');
    await until(async () => (await see(cookie, 'conversations'))[0] === 401);
    expect((await see(other, 'conversations'))[0]).toBe(200);
  });

  it('shows no counts, keys, addresses, paths or names of other projects', async () => {
    const place = await onFile();
    const secretOf = 'what only the operator may see';
    const stage = await startTeam(place, { MCP_PRUNER_UPSTREAM_API_KEY: 'sk-of-the-operator' }, undefined, async () => [
      { level: 'ok', what: secretOf },
    ]);
    const { web, api } = await members(stage, place, ['web', 'other-project'] as const).then((made) => ({
      web: made.web,
      api: made['other-project'],
    }));
    await api.prunes(stage, aLog(1));
    const operator = new Member(stage, await newKey(place, '*'));
    const doctorOf = async (member: Member): Promise<string> => {
      const { pageToken } = (await member.page('session')) as { pageToken: string };
      const headers = { origin: stage.url, 'x-mcp-pruner-page': pageToken };
      return (await member.send('/page/api/doctor', {}, headers)).body.toString();
    };
    expect(await doctorOf(operator)).toContain(secretOf);
    const at = { env: place, clock: { nowMs: () => Date.now() } };
    for (const project of ['web', 'other-project']) await run(['projects', 'set', project, '--mode', 'shadow'], at);
    const { rows } = (await operator.page('projects')) as { rows: { project: string; author: string }[] };
    expect(rows.map(({ project }) => project)).toEqual(['other-project', 'web']);
    expect(await operator.page('projects?of=web')).toMatchObject({
      rows: [{ project: 'web', settings: '{"mode":"shadow"}' }],
    });
    const listed = (await operator.page('keys')) as { keys: { name: string; state: string }[] };
    expect(listed.keys.map(({ name }) => name).sort()).toEqual(['of *', 'of other-project', 'of web']);
    expect(await web.page('keys')).toEqual({ off: true });
    const seen = [
      await doctorOf(web),
      await web.call('health', {}),
      await web.page('settings'),
      await web.page('projects'),
    ];
    seen.push(await web.page('session'), await web.page('store'));
    const text = seen.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');
    expect(text).toContain('this proxy answers');
    const upstream = new URL(stage.upstream.url);
    for (const hidden of [secretOf, upstream.host, 'api.anthropic.com', stage.dbPath, 'other-project', 'key_']) {
      expect(text).not.toContain(hidden);
    }
  });

  it('shows live events only of its own projects', async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    const { web, api } = await members(stage, place, ['web', 'api'] as const);
    const key = await keys(place, 'create', '--name', 'live', '--project', 'api');
    let heard = '';
    const following = request(`${stage.url}/page/api/live?from=1`, { headers: { 'x-mcp-pruner-key': key } }, (res) => {
      res.on('data', (chunk: Buffer) => {
        heard += chunk.toString();
      });
    });
    following.on('error', () => {});
    following.end();
    const theirs = await web.prunes(stage, aLog(1), 'Why does the payment of web fail?');
    const mine = await api.prunes(stage, aLog(2));
    await until(() => heard.includes(mine));
    expect(heard).not.toContain(theirs);
    following.destroy();
  });

  it('has separate answers for the same idempotency key in another project', async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    const { web, api } = await members(stage, place, ['web', 'api'] as const);
    const options = { ...PRUNE_OPTIONS, min_keep_lines: 3, timeout_ms: 5_000 };
    const call = { text: aLog(3), goal_hint: 'payment', source_type: 'logs', options, idempotency_key: 'k' };
    expect(await web.call('prune_text', call)).toMatchObject({ idempotent: false });
    expect(await web.call('prune_text', call)).toMatchObject({ idempotent: true });
    // no conflict with arguments that nobody of this project gave, and no answer that was another's
    expect(await api.call('prune_text', { ...call, text: aLog(4) })).toMatchObject({ idempotent: false });
  });

  it('includes the fleet only if the key opens all projects', async () => {
    const place = await onFile();
    const stage = await startTeam(place, { MCP_PRUNER_ENABLE: 'fleet', MCP_PRUNER_AUTH_TOKEN: TOKEN });
    const { api, '*': all } = await members(stage, place, ['api', '*'] as const);
    const set = { key: 'plan:web', value: 'secret of web' };
    expect(await all.call('bb_set', set)).toMatchObject({ key: 'plan:web' });
    const tools = async (by: Member) =>
      ((await by.rpc('tools/list', {})).result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    expect(await tools(all)).toContain('bb_get');
    expect((await tools(api)).filter((name) => /^(?:bb|graph|child|plan|stig|tx|cnp)_/.test(name))).toEqual([]);
    for (const name of ['bb_get', 'bb_query', 'child_list', 'graph_mutate']) {
      expect(await api.call(name, { key: 'plan:web' })).toMatchObject({ error: { code: -32602 } });
    }
    expect(JSON.stringify(await all.call('resources_list', {}))).toContain('blackboard');
    expect(JSON.stringify(await api.call('resources_list', {}))).not.toContain('blackboard');
    expect(await api.page('fleet')).toEqual({ off: true });
    // the token of the operator opens the metrics, and no project
    const asOperator = { authorization: `Bearer ${TOKEN}` };
    expect((await send(`${stage.url}/metrics`, { headers: asOperator })).status).toBe(200);
    expect((await all.send('/metrics')).status).toBe(200);
    expect((await api.send('/metrics')).status).toBe(401);
    expect((await send(`${stage.url}/rpc`, { method: 'POST', headers: asOperator, body: '{}' })).status).toBe(401);
  });

  it('includes a WebSocket to the model, whose upstream never sees the key', async () => {
    const upstream = await startSocketUpstream();
    const place = await onFile();
    const stage = await startTeam(place, { MCP_PRUNER_UPSTREAM_URL: upstream.url });
    const key = await newKey(place, 'web');
    const url = stage.url.replace('http', 'ws');
    for (const [path, headers] of [
      [`/k/${key}/v1/responses`, {}],
      ['/v1/responses', { 'x-mcp-pruner-key': key }],
    ] as const) {
      const client = new SocketClient(`${url}${path}`, [], { headers: { authorization: 'Bearer sk', ...headers } });
      await until(() => client.answer);
      client.socket.terminate();
    }
    const asked = upstream.connections.map(({ request: { url: path, rawHeaders } }) => [path, rawHeaders]);
    expect(JSON.stringify(asked)).not.toContain(key);
    expect(asked.map(([path]) => path)).toEqual(['/v1/responses', '/v1/responses']);
  });

  it('closes its open WebSockets when the key is revoked, and no others', async () => {
    const upstream = await startSocketUpstream();
    const place = await onFile();
    const stage = await startTeam(place, { MCP_PRUNER_UPSTREAM_URL: upstream.url });
    const [ended, other] = await Promise.all([newKey(place, 'web'), newKey(place, 'api')]);
    const socketOf = (key: string) => openSocket(stage.url, { headers: { 'x-mcp-pruner-key': key } });
    const [closing, open] = await Promise.all([socketOf(ended), socketOf(other)]);
    await keys(place, 'revoke', 'of web');
    await closing.closed;
    expect(open.socket.readyState).toBe(open.socket.OPEN);
    await expect(socketOf(ended)).rejects.toThrow('401');
  });
});
