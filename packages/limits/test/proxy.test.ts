import { readFileSync } from 'node:fs';
import { markedRun } from '@mcp-pruner/agents/run/mark.ts';
import { summaryOf } from '@mcp-pruner/agents/run/summary.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { startSocketUpstream } from '../../../test/helpers/fake-socket-upstream.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody } from '../../../test/helpers/messages.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { type ProxyOptions, startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { openSocket } from '../../../test/helpers/socket-client.ts';
import { until } from '../../../test/helpers/until.ts';
import type { LimitsReport, WindowShown } from '../src/shapes.ts';
import { LimitBooks } from './provider.ts';

const BEGAN_MS = Date.parse('2026-11-27T10:00:00Z');
const TOKEN = 'sk-ant-oat01-secret-of-the-user';
const USAGE = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 900, output_tokens: 20 };

/** A Claude subscription behind a proxy with a clock of the test. */
async function stage(env: Record<string, string> = {}, options: ProxyOptions = {}) {
  const clock = { now: BEGAN_MS, nowMs: () => clock.now };
  const books = new LimitBooks(clock.now);
  const state = { status: 200, headers: () => books.anthropic() as Record<string, string>, hold: Promise.resolve() };
  const upstream = await startUpstream(async (_request, res) => {
    const { status } = state;
    await state.hold;
    const body = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', usage: USAGE };
    json(res, status, { ...body, content: [{ type: 'text', text: 'Done.' }] }, state.headers());
  });
  const proxy = await startProxy(upstream, { clock, env, ...options });
  const ask = async (
    session: string,
    { project = 'web', words = session, headers = {}, base = proxy.url } = {},
  ): Promise<void> => {
    const answer = await fetch(`${base}/v1/messages`, {
      method: 'POST',
      headers: {
        ...{
          'content-type': 'application/json',
          authorization: `Bearer ${TOKEN}`,
          'anthropic-beta': 'oauth-2025-04-20',
        },
        ...(session !== '' && { 'x-claude-code-session-id': session }),
        ...{ 'x-mcp-pruner-project': project, ...headers },
      },
      body: messagesBody([{ role: 'user', content: words }]),
    });
    expect(answer.status).toBe(state.status);
    await answer.text();
  };
  const given = { env: { MCP_PRUNER_DB_PATH: proxy.dbPath, ...env }, clock };
  return { clock, books, state, upstream, proxy, ask, given, report: () => reportOf(proxy, given) };
}

/** What `limits --json` prints once the proxy has written everything. */
async function reportOf(proxy: TestProxy, given: Parameters<typeof run>[1]): Promise<LimitsReport> {
  await proxy.stop();
  const { out } = await run(['limits', '--json'], given);
  await proxy.start();
  return JSON.parse(out) as LimitsReport;
}

function windowOf({ accounts }: LimitsReport, name: string): WindowShown {
  const found = accounts.flatMap(({ windows }) => windows).find(({ window }) => window === name);
  if (found === undefined) throw new Error(`no ${name} in ${JSON.stringify(accounts)}`);
  return found;
}

function expectWhole({ used, elsewhere, sessions }: WindowShown): void {
  expect(sessions.reduce((sum, one) => sum + one.used, elsewhere)).toBeCloseTo(used, 9);
}

it('reports how many points of each limit the requests of a run used, also across a reset', async () => {
  const { clock, books, ask, proxy } = await stage();
  const run = markedRun(proxy.url);
  for (const base of [proxy.url, run.url, proxy.url, run.url]) {
    books.use(4);
    await ask('one', { base });
    clock.now += 20_000;
  }
  expect(await summaryOf({ url: proxy.url, token: null, key: null }, run.id)).toContain(
    'used 8 points of 5h and 4 points of 7d.',
  );
  books.reset('5h');
  clock.now += 5 * 3_600_000 - 80_000;
  await ask('one', { base: run.url }); // the first answer of a window
  books.use(2);
  clock.now += 1_000;
  await ask('one', { base: run.url });
  expect(await summaryOf({ url: proxy.url, token: null, key: null }, run.id)).toContain(
    'used 10 points of 5h and 5 points of 7d.',
  );
});

const sharedUrl = sharedDatabase();

describe.each([
  { on: 'a file', runs: true, env: async () => ({}) },
  { on: 'PostgreSQL', runs: hasPostgres, env: async () => ({ MCP_PRUNER_DATABASE_URL: await sharedUrl() }) },
])('limits of a Claude subscription, on $on', ({ runs, env }) => {
  it.skipIf(!runs)('add up exactly if two proxies on one store serve the account in turn', async () => {
    const store = await env();
    const { clock, books, ask, report, proxy, upstream } = await stage(store);
    const other = await startProxy(upstream, { clock, env: { MCP_PRUNER_DB_PATH: proxy.dbPath, ...store } });
    await ask('begin');
    for (let i = 0; i < 6; i++) {
      clock.now += 20_000;
      books.use(i % 2 === 0 ? 2 : 3);
      await ask(i % 2 === 0 ? 'here' : 'there', { base: i % 2 === 0 ? proxy.url : other.url });
    }
    await other.stop();
    const window = windowOf(await report(), '5h');
    const used = window.sessions.map(({ session, used }) => [session, Math.round(used * 100)]);
    expect(used).toEqual(
      expect.arrayContaining([
        ['here', 6],
        ['there', 9],
      ]),
    );
    expectWhole(window);
  });

  it.skipIf(!runs)('match the provider’s figures, and each session gets its share', async () => {
    const { clock, books, ask, report, given, proxy } = await stage(await env());
    books.use(30); // before the proxy knew of the account
    const used: Record<string, number> = { one: 0, two: 0 };
    for (let i = 0; i < 24; i++) {
      const session = i % 3 === 0 ? 'two' : 'one';
      const before = books.shown('5h');
      books.use(session === 'one' ? 0.7 : 1.6);
      await ask(session, { project: session === 'one' ? 'web' : 'api' });
      if (i > 0) used[session] = (used[session] ?? 0) + books.shown('5h') - before;
      clock.now += 20_000;
    }
    books.use(9); // another machine on the same account, meanwhile
    clock.now += 600_000;
    await ask('one');
    const shown = await report();
    expect(shown.accounts).toHaveLength(1);
    expect(shown.accounts[0]).toMatchObject({ provider: 'anthropic', plan: null });
    for (const name of ['5h', '7d']) {
      const window = windowOf(shown, name);
      expect(window.used).toBeCloseTo(books.shown(name) / 100, 9);
      expectWhole(window);
    }
    const { sessions, projects, resetsAt, status, minutes } = windowOf(shown, '5h');
    expect({ status, minutes, resetsAt }).toEqual({
      status: 'allowed',
      minutes: 300,
      resetsAt: '2026-11-27T15:00:00.000Z',
    });
    for (const { session, used: share, shared } of sessions) {
      // the request that saw the other machine's share may have used as much as half more than usual, rounded up
      const most = (used[session] ?? 0) / 100 + (session === 'one' ? 0.02 : 0);
      expect(share).toBeGreaterThanOrEqual((used[session] ?? 0) / 100 - 1e-9);
      expect(share).toBeLessThanOrEqual(most + 1e-9);
      expect(shared).toBe(0);
    }
    expect(windowOf(shown, '5h').elsewhere).toBeGreaterThanOrEqual(0.3 + 0.07 - 1e-9);
    expect(projects.map(({ project }) => project).sort()).toEqual(['api', 'web']);

    const erasing = await run(['erase', '--project', 'api', '--json', '--vacuum-full'], given);
    expect(erasing.err).toBe('');
    expect(JSON.parse(erasing.out)).toMatchObject({ rows: { limit_reading: { after: 0 } } });
    const erased = windowOf(await report(), '5h');
    expect(erased.sessions.map(({ session }) => session)).toEqual(['one']);
    expect(erased.elsewhere).toBeCloseTo(windowOf(shown, '5h').elsewhere + (used.two ?? 0) / 100, 9);
    expectWhole(erased);
    expect(proxy.url).toContain('127.0.0.1');
  });
});

describe('subscription limits', () => {
  it('are divided among overlapping requests, which are marked as sharing them', async () => {
    const { clock, books, state, ask, report, upstream } = await stage();
    await ask('one');
    clock.now += 1_000;
    let release = (): void => {};
    state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const first = ask('one', { words: 'first' });
    const second = ask('two', { words: 'second' });
    await until(() => upstream.requests.length === 3);
    clock.now += 5_000;
    books.use(4);
    release();
    await Promise.all([first, second]);
    const window = windowOf(await report(), '5h');
    expect(window.sessions.map(({ session, used }) => [session, used]).sort()).toEqual([
      ['one', 0.02],
      ['two', 0.02],
    ]);
    expect(window.sessions.map(({ shared }) => shared)).toEqual([0.02, 0.02]);
  });

  it('restart after their reset, and are omitted between the reset and the next request', async () => {
    const { clock, books, ask, report, given, proxy } = await stage();
    books.use(50);
    await ask('one');
    clock.now += 5 * 3_600_000;
    books.reset('5h');
    const between = await report();
    expect(between.accounts.flatMap(({ windows }) => windows.map(({ window }) => window))).toEqual(['7d']);
    books.use(3);
    await ask('one');
    books.use(2);
    clock.now += 1_000;
    await ask('one');
    expect(windowOf(await report(), '5h')).toMatchObject({ used: 0.05, elsewhere: 0.03, sessions: [{ used: 0.02 }] });
    for (const columns of [60, 80, 120]) {
      const { out, code } = await run(['limits'], { ...given, columns });
      expect(code).toBe(0);
      expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
      expect(out).toContain('Claude subscription');
      expect(out).toMatch(/5h .* 5 % used/);
    }
    expect(proxy.url).toContain('http');
  });

  it('may be exceeded with overage, whose own figures are ignored', async () => {
    const { clock, books, state, ask, report, given } = await stage();
    state.headers = () =>
      books.anthropic({
        'anthropic-ratelimit-unified-overage-in-use': 'true',
        'anthropic-ratelimit-unified-overage-status': 'allowed',
        'anthropic-ratelimit-unified-overage-utilization': '0.31',
        'anthropic-ratelimit-unified-overage-reset': '1800000000',
      });
    books.use(97);
    await ask('one');
    for (const session of ['one', 'two', 'two']) {
      clock.now += 20_000;
      books.use(4);
      await ask(session);
    }
    const shown = await report();
    expect(shown.accounts.flatMap(({ windows }) => windows.map(({ window }) => window))).toEqual(['5h', '7d']);
    const window = windowOf(shown, '5h');
    expect(window).toMatchObject({ used: 1.09, elsewhere: 0.97, sessions: [{ session: 'two', used: 0.08 }, {}] });
    expectWhole(window);
    expect((await run(['limits'], given)).out).toMatch(/5h .* 109 % used\n/);
  });

  it('apply to one account even if two machines send overlapping requests', async () => {
    const { clock, books, ask, report, proxy } = await stage();
    const other = new LimitBooks(clock.now); // the second machine, which the proxy does not see
    let [ours, theirs] = [0, 0];
    await ask('one');
    for (let i = 0; i < 12; i++) {
      const before = books.shown('5h');
      books.use(0.7);
      if (i % 6 === 5) {
        other.use(13);
        books.use(13);
        theirs += 13;
      }
      clock.now += i % 4 === 3 ? 600_000 : 20_000; // pauses too
      await ask(i % 3 === 0 ? 'two' : 'one');
      ours += books.shown('5h') - before;
    }
    const window = windowOf(await report(), '5h');
    expect(window.used).toBeCloseTo(books.shown('5h') / 100, 9);
    expectWhole(window);
    expect(window.elsewhere).toBeGreaterThan(0.2);
    expect(window.elsewhere).toBeLessThanOrEqual(theirs / 100);
    expect(window.used - window.elsewhere).toBeLessThanOrEqual(ours / 100);
    expect(theirs).toBeCloseTo(other.windows[0]?.used ?? 0, 9);
    expect(proxy.url).toContain('http');
  });

  it('are recorded with pruning off, not for pages of other origins, and never name the account openly', async () => {
    const { books, ask, report, proxy, given } = await stage({ MCP_PRUNER_ENABLED: 'false' });
    books.use(7);
    await ask('one', { headers: { origin: 'https://elsewhere.example' } });
    expect((await report()).accounts).toEqual([]);
    await ask('one');
    const shown = await report();
    expect(windowOf(shown, '5h').sessions).toMatchObject([{ session: 'one', project: 'web' }]);
    await proxy.stop();
    const stored = ['', '-wal'].flatMap((end) => {
      try {
        return [readFileSync(given.env.MCP_PRUNER_DB_PATH + end, 'latin1')];
      } catch {
        return [];
      }
    });
    for (const text of [...stored, await proxy.logText(), JSON.stringify(shown)]) {
      expect(text).not.toContain(books.organization);
      expect(text).not.toContain(TOKEN);
    }
  });

  it('do not change after answers that report no limits', async () => {
    const { books, state, ask, report } = await stage();
    books.use(5);
    await ask('one');
    state.headers = () => ({ 'anthropic-ratelimit-unified-5h-utilization': '' });
    books.use(5);
    await ask('two');
    expect(windowOf(await report(), '5h')).toMatchObject({ used: 0.05, sessions: [{ session: 'one' }] });
  });

  it('are logged once when a limit causes refusals, and are exported as a metric', async () => {
    const { clock, books, state, ask, proxy } = await stage();
    books.use(80);
    await ask('one');
    books.use(20);
    clock.now += 1_000;
    await ask('two');
    state.status = 429;
    state.headers = () =>
      books.anthropic({
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-5h-status': 'rejected',
        'retry-after': '600',
      });
    for (let i = 0; i < 3; i++) await ask('two');
    const lines = async () =>
      (await proxy.logLines()).filter(({ msg }) => String(msg).startsWith("a subscription's limit"));
    const [line] = await until(async () => (await lines()).length > 0 && (await lines()));
    expect(line).toMatchObject({
      window: '5h',
      used: 1,
      session: 'two',
      sessionUsed: 0.2,
      resetsAt: '2026-11-27T15:00:00.000Z',
    });
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(metrics).toMatch(
      /mcp_pruner_limit_used_ratio\{provider="anthropic",window="5h",account="[0-9a-f]{12}"\} 1\n/,
    );
    await proxy.stop();
    expect(await lines()).toHaveLength(1);
  });
});

describe('limits of a Codex login', () => {
  it('are read from headers in any position and spelling, and belong to one account', async () => {
    const clock = { now: BEGAN_MS, nowMs: () => clock.now };
    const books = new LimitBooks(clock.now);
    let index = 0;
    const upstream = await startUpstream((_request, res) => {
      books.positions = index % 2 === 0 ? ['primary', 'secondary'] : ['secondary', 'primary'];
      const usage = { input_tokens: 1_000, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5 };
      const headers = books.codex(clock.now, index++ % 3 === 0 ? 'at' : 'after');
      json(res, 200, { id: 'resp_1', object: 'response', status: 'completed', output: [], usage }, headers);
    });
    const proxy = await startProxy(upstream, { clock });
    for (const [i, session] of ['a', 'b', 'a', 'a'].entries()) {
      books.use(2);
      const answer = await fetch(`${proxy.url}/v1/responses`, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', authorization: `Bearer token-${i}` },
          ...{ 'chatgpt-account-id': 'acc-77aa-private', session_id: session },
        },
        body: JSON.stringify({ model: 'gpt-6', input: [{ role: 'user', content: session }] }),
      });
      await answer.text();
      clock.now += 7_300;
    }
    const given = { env: { MCP_PRUNER_DB_PATH: proxy.dbPath }, clock };
    const shown = await reportOf(proxy, given);
    expect(shown.accounts).toMatchObject([{ provider: 'openai', plan: 'pro' }]);
    expect(windowOf(shown, '5h')).toMatchObject({
      used: 0.08,
      elsewhere: 0.02,
      sessions: [
        { session: 'a', used: 0.04 },
        { session: 'b', used: 0.02 },
      ],
    });
    expectWhole(windowOf(shown, '7d'));
    expect(readFileSync(proxy.dbPath, 'latin1')).not.toContain('acc-77aa-private');
  });

  it('are read from WebSocket events, including those before and after an answer', async () => {
    const clock = { now: BEGAN_MS, nowMs: () => clock.now };
    const books = new LimitBooks(clock.now);
    const upstream = await startSocketUpstream();
    upstream.onMessage = (socket) => {
      socket.send(books.event());
      socket.send(JSON.stringify({ type: 'response.created', response: { id: 'resp_1' } }));
      const usage = { input_tokens: 1_000, output_tokens: 5 };
      socket.send(
        JSON.stringify({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', usage } }),
      );
      books.use(1);
      socket.send(books.event());
    };
    const proxy = await startProxy(upstream.url, { clock });
    const headers = { authorization: 'Bearer x', 'chatgpt-account-id': 'acc-1', session_id: 'ws' };
    const client = await openSocket(proxy.url, { headers });
    for (const words of ['one', 'two']) {
      books.use(3);
      client.socket.send(
        JSON.stringify({ type: 'response.create', model: 'gpt-6', input: [{ role: 'user', content: words }] }),
      );
      await client.received(words === 'one' ? 4 : 8);
      clock.now += 2_000;
    }
    client.socket.close();
    await client.closed;
    const shown = await reportOf(proxy, { env: { MCP_PRUNER_DB_PATH: proxy.dbPath }, clock });
    expect(windowOf(shown, '5h')).toMatchObject({
      used: 0.08,
      elsewhere: 0.03,
      sessions: [{ session: 'ws', used: 0.05 }],
    });
  });
});
