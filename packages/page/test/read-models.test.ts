import type { EventRecord, StoredEvent } from 'mcp-pruner/core/ports.ts';
import { verifiedHistoryProject } from 'mcp-pruner/core/segments/verified-history-project.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { conversationPage, conversationsFrom } from '../src/conversations.ts';
import { groupByRequest, requestsBefore } from '../src/requests.ts';
import type { ConversationsShown } from '../src/shapes.ts';
import { work } from './material.ts';
import { openStage, type Stage } from './stage.ts';

function aStore(maxEvents = 100_000) {
  const clock = { nowMs: () => 1_700_000_000_000 };
  const store = openSqliteStore({ path: ':memory:', clock, ttlMs: 1e6, maxBytes: 1e9, maxEvents });
  afterwards(() => store.close());
  return store;
}

const event = (opId: string | null, kind: string, payload: EventRecord['payload'] = {}): EventRecord => ({
  tsMs: 1_700_000_000_000,
  ...{ kind, level: 'info', runId: 'run', opId, payload },
});

/** A request that brought one cut text, or none. */
const aRequest = (i: number, cut = false): EventRecord[] => [
  event(`r${i}`, 'request', { model: `m${i}`, wire: 'chat', status: 200 }),
  ...(cut
    ? [
        event(`r${i}`, 'candidate', { tool: 'bash', kind: 'log' }),
        event(`r${i}`, 'pruned', {
          prune_id: `prn_${i}`,
          tool: 'bash',
          kind: 'log',
          tokens_before: 100,
          tokens_after: 30,
        }),
      ]
    : []),
];

const seqs = (events: readonly EventRecord[]): StoredEvent[] => events.map((one, i) => ({ ...one, seq: i + 1 }));

describe('events grouped by request', () => {
  it('show the outcome of each text, cuts first, and list other events separately', () => {
    const { requests, notes } = groupByRequest(
      seqs([
        ...aRequest(1),
        event('r1', 'left_whole', { tool: 'grep', reason: 'too_little_saved', lines: 9 }),
        event('r1', 'pruned', { tool: 'bash', prune_id: 'prn_1', lines: 90, kept_lines: 4 }),
        event('r1', 'fallback', { reason: 'store_busy' }),
        event(null, 'recovered', { prune_id: 'prn_1', lines: 3 }),
        event('r0', 'pruned', { tool: 'of a request that began before' }),
      ]),
    );
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ seq: 1, model: 'm1', fallbacks: ['store_busy'], more: 0 });
    expect(requests[0]?.texts.map(({ tool, pruneId, whole }) => [tool, pruneId, whole])).toEqual([
      ['bash', 'prn_1', ''],
      ['grep', null, 'too_little_saved'],
    ]);
    expect(notes).toMatchObject([{ kind: 'recovered', facts: { prune_id: 'prn_1', lines: 3 } }]);
  });

  it('may have any payload', () => {
    const odd = { model: 7, status: 'x', tokens_saved: Number.NaN, prune_id: {}, tool: 'x'.repeat(10_000) };
    const { requests } = groupByRequest(seqs([event('r', 'request', odd), event('r', 'pruned', odd)]));
    expect(requests[0]).toMatchObject({ model: '', status: 0, tokensSaved: 0 });
    expect(requests[0]?.texts[0]).toMatchObject({ pruneId: null, tool: 'x'.repeat(300) });
  });
});

describe('pages of requests', () => {
  it('contain every request once and completely, newest first, whatever other events there are', async () => {
    const store = aStore();
    const events = Array.from({ length: 300 }, (_, i) => [
      ...aRequest(i, i % 3 === 0),
      ...Array.from({ length: i % 7 === 0 ? 40 : 0 }, () => event(null, 'recovered', {})),
    ]).flat();
    await store.addEvents(events);
    const seen: string[] = [];
    for (let before: number | null = events.length + 1; before !== null; ) {
      const page = await requestsBefore(store, before, 50);
      for (const { requestId, texts } of page.requests) {
        seen.push(requestId);
        expect(texts).toHaveLength(Number(requestId.slice(1)) % 3 === 0 ? 1 : 0);
      }
      before = page.next;
    }
    expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => `r${299 - i}`));
  });

  it('end with the oldest stored event', async () => {
    const store = aStore(100);
    for (let i = 0; i < 20; i++)
      await store.addEvents(Array.from({ length: 50 }, (_, k) => aRequest(i * 50 + k)).flat());
    const first = await requestsBefore(store, 1_001, 60);
    expect(first.requests).toHaveLength(60);
    const second = await requestsBefore(store, first.next ?? 0, 60);
    expect([second.requests.length, second.next]).toEqual([40, null]);
  });
});

/** The conversations of two wires with the same first words, each asked twice, before and after a restart. */
async function askedOnTwoWires(server: Stage): Promise<readonly (readonly [wire: string, requests: number])[]> {
  const log = serverLog(200);
  const bodies = { '/v1/messages': messagesBody(oneCall(log)), '/v1/chat/completions': chatBody(oneResult(log)) };
  for (const isFirst of [true, false]) {
    for (const [path, body] of Object.entries(bodies)) {
      const headers = { 'content-type': 'application/json' };
      await (await fetch(`${server.url}${path}`, { method: 'POST', headers, body })).text();
    }
    if (isFirst) await server.restart();
  }
  return until(async () => {
    const answer = await fetch(`${server.url}/page/api/conversations?sort=seen`);
    if (answer.status === 503) return null;
    const { conversations } = (await answer.json()) as ConversationsShown;
    const found = conversations.map(({ bill }) => [bill?.wire ?? '', bill?.requests ?? 0] as const);
    return found.reduce((sum, [, requests]) => sum + requests, 0) >= 4 ? found.sort() : null;
  });
}

const APART = [
  ['chat', 2],
  ['messages', 2],
];

describe('requests on two wires with the same first words', () => {
  it('form two conversations with separate bills, even after a restart', async () => {
    const server = await openStage();
    afterwards(() => server.close());
    expect(await askedOnTwoWires(server)).toEqual(APART);
  });
});

describe.skipIf(!hasPostgres)('the page on PostgreSQL', () => {
  const emptyDatabase = sharedDatabase();

  it('shows requests on two wires with the same first words as two conversations with separate bills', async () => {
    const server = await openStage({ env: { MCP_PRUNER_DATABASE_URL: await emptyDatabase() } });
    afterwards(() => server.close());
    expect(await askedOnTwoWires(server)).toEqual(APART);
  });

  it('answers every read request', async () => {
    const server = await openStage({ env: { MCP_PRUNER_DATABASE_URL: await emptyDatabase() } });
    afterwards(() => server.close());
    await work(server);
    const read = (path: string) =>
      until(async () => {
        const answer = await fetch(`${server.url}/page/api/${path}`);
        const found = (await answer.json()) as Record<string, unknown>;
        if (answer.status === 503) return null; // the database was too busy to answer in time
        expect([path, answer.status]).toEqual([path, 200]);
        return found;
      });
    const { requests } = (await read('requests')) as { requests?: { conversation: string; project: string }[] };
    const name = requests?.[0]?.conversation ?? '';
    expect(requests?.[0]).toMatchObject({ project: 'default' });
    const sorted = ['seen', 'requests', 'dollars', 'saved', 'cut'].map(
      (sort) => `conversations?sort=${sort}&q=checkout`,
    );
    const lines = ['project', 'model', 'tool'].map((by) => `lines?days=7&by=${by}&measure=tokens`);
    for (const path of [...sorted, ...lines, 'facets', 'ledger?days=7', 'contexts?days=7', 'store', 'prunes'])
      await read(path);
    expect(await read(`conversation?name=${name}`)).toMatchObject({ conversation: { name, project: 'default' } });
    expect(await read(`timeline?name=${name}`)).toMatchObject({
      threshold: null,
      turns: [{}, {}, {}, {}],
      compactions: [],
      recoveries: [],
    });
  });
});

describe('the fleet on the page', () => {
  it("ends a child by an action with the page's token", async () => {
    const token = 'a-token-that-nobody-guesses-0123456789';
    const env = { MCP_PRUNER_ENABLE: 'fleet', MCP_PRUNER_CHILDREN: `commands = ${JSON.stringify([process.execPath])}` };
    const server = await openStage({ env: { ...env, MCP_PRUNER_AUTH_TOKEN: token } });
    afterwards(() => server.close());
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const args = {
      child_id: 'idle',
      command: process.execPath,
      args: ['-e', 'setInterval(() => {}, 1000)'],
      prompt: '',
    };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'child_create', arguments: args } };
    expect(await (await post('/rpc', call, { authorization: `Bearer ${token}` })).text()).toContain('running');
    const cookie = (await post('/page/api/session', { token })).headers.get('set-cookie')?.split(';')[0] ?? '';
    const session = await (await fetch(`${server.url}/page/api/session`, { headers: { cookie } })).json();
    const { pageToken } = session as { pageToken: string };
    expect((await post('/page/api/child-kill', { child_id: 'idle' }, { cookie })).status).toBe(403);
    const killed = await post('/page/api/child-kill', { child_id: 'idle' }, { cookie, 'x-mcp-pruner-page': pageToken });
    expect(await killed.json()).toMatchObject({ child_id: 'idle', state: 'killed' });
  });
});

describe('conversations', () => {
  it('are shown under their project name, with a note if the provider verifies their history', async () => {
    const store = aStore();
    const seen = (project: string, conversationId: string, atMs: number) => ({
      ...{ project, conversationId, atMs, task: '', turns: 1, messages: 1, whole: true, segments: [] },
    });
    await store.segments.note([seen('checkout', 'open', 1), seen(verifiedHistoryProject('checkout'), 'thinking', 2)]);
    const recall = { search: () => Promise.reject(new Error('nothing is searched')) };
    const parts = { recall, store, flush: () => Promise.resolve() };
    const { conversations } = await conversationsFrom(parts, { sort: 'seen', from: 0 });
    expect(conversations.map(({ project, name, bound }) => [project, name, bound])).toEqual([
      ['checkout', 'thinking', true],
      ['checkout', 'open', false],
    ]);
    const page = await conversationPage(parts, { name: 'thinking', project: 'checkout' }, undefined);
    expect(page.conversation).toMatchObject({ project: 'checkout', bound: true });
  });
});
