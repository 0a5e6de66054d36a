import { conversationsFrom } from '@mcp-pruner/page/conversations.ts';
import { contentIdOf } from 'mcp-pruner/base/conversation-ids.ts';
import { describe, expect, it } from 'vitest';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { readReport } from '../src/ledger.ts';

const QUESTION = 'Why does the checkout fail for some customers? Find the failing payment.';

/** Results of the calls that an agent has made. */
type Results = readonly string[];

/** An agent on one wire, with the session as its client names it. */
interface Agent {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: (results: Results) => object;
}

const chat = (session: string, id = session): Agent => ({
  path: '/v1/chat/completions',
  headers: session === '' ? {} : { 'x-session-affinity': session },
  body: (results) => ({
    model: 'chat-1',
    messages: [
      { role: 'user', content: QUESTION },
      ...results.flatMap((content, i) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `${id}${i}`, type: 'function', function: { name: 'bash', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: `${id}${i}`, content },
      ]),
    ],
  }),
});

const messages = (session: string, { model = 'claude-opus-5', words = QUESTION } = {}): Agent => ({
  path: '/v1/messages',
  body: (results) => ({
    model,
    max_tokens: 100,
    cache_control: { type: 'ephemeral' },
    metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: session }) },
    messages: [
      { role: 'user', content: words },
      ...results.flatMap((content, i) => [
        { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'Bash', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i}`, content }] },
      ]),
    ],
  }),
});

const responses = (session: string): Agent => ({
  path: '/v1/responses',
  headers: { session_id: session },
  body: (results) => ({
    model: 'gpt-6.2',
    store: false,
    input: [
      { type: 'message', role: 'user', content: QUESTION },
      ...results.flatMap((output, i) => [
        { type: 'function_call', call_id: `f${i}`, name: 'shell', arguments: '{}' },
        { type: 'function_call_output', call_id: `f${i}`, output },
      ]),
    ],
  }),
});

const gemini = (session: string): Agent => ({
  path: '/v1beta/models/gemini-3-pro:generateContent',
  headers: { 'x-session-id': session },
  body: (results) => ({
    contents: [
      { role: 'user', parts: [{ text: QUESTION }] },
      ...results.flatMap((output, i) => [
        { role: 'model', parts: [{ functionCall: { id: `g${i}`, name: 'bash', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { id: `g${i}`, name: 'bash', response: { output } } }] },
      ]),
    ],
  }),
});

/** An answer that reports everything before the last 100 tokens as read from the cache, in the fields of all wires. */
function answerTo(body: Buffer): object {
  const input = Math.ceil(body.length / 4);
  const read = Math.max(0, input - 100);
  return {
    ...{ id: 'r', type: 'message', object: 'response', role: 'assistant', content: [], output: [] },
    usage: {
      ...{ prompt_tokens: input, completion_tokens: 5, prompt_tokens_details: { cached_tokens: read } },
      ...{
        input_tokens: input - read,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: 0,
        output_tokens: 5,
      },
      ...{ input_tokens_details: { cached_tokens: read } },
    },
    candidates: [{ content: { parts: [{ text: 'ok' }] } }],
    usageMetadata: { promptTokenCount: input, candidatesTokenCount: 5, cachedContentTokenCount: read },
  };
}

/** A proxy whose upstream answers, or fails as long as `failing` says so. */
async function stage() {
  const failing = { now: false };
  const upstream = await startUpstream(({ url, body }, res) => {
    if (!failing.now) return json(res, 200, answerTo(body));
    if (url.includes('messages')) return json(res, 529, { type: 'error', error: { type: 'overloaded_error' } });
    res.writeHead(502).end('Bad gateway');
  });
  const url = `http://127.0.0.1:${upstream.port}`;
  const env = { MCP_PRUNER_ANTHROPIC_URL: `${url}/v1`, MCP_PRUNER_GEMINI_URL: url };
  return { failing, proxy: await startProxy(upstream, { env }) };
}

async function send(proxy: TestProxy, { path, headers, body }: Agent, results: Results): Promise<void> {
  const all = { 'content-type': 'application/json', authorization: 'Bearer k', ...headers };
  await (
    await fetch(`${proxy.url}${path}`, { method: 'POST', headers: all, body: JSON.stringify(body(results)) })
  ).text();
}

/** What people see once the proxy has stopped. */
async function seen(proxy: TestProxy) {
  const lines = await proxy.logLines();
  await proxy.stop();
  const store = openStore(proxy.dbPath);
  const { ledger } = store;
  const { conversations: shown } = await conversationsFrom(
    { store, recall: { search: async () => ({ hits: [] }) as never }, flush: async () => {} },
    { sort: 'seen', from: 0 },
  );
  const billed = await ledger.conversations({ sinceMs: 0, limit: 99 });
  const turns = await Promise.all(
    billed.map(async ({ conversationId }) => await ledger.turns({ conversationId, limit: 99 })),
  );
  const { misses } = await readReport(ledger, { sinceDay: '2000-01-01' });
  const requests = lines.filter(({ msg }) => msg === 'model request');
  return { shown, billed, turns, misses, requests };
}

const log = (seed: number): string => serverLog(200, seed);

describe('conversations with the same first words', () => {
  it('of four agents on four wires are counted as four, and cause no cache misses for each other', async () => {
    const { proxy } = await stage();
    const agents = [chat('s1'), messages('s2'), responses('s3'), gemini('s4')];
    for (let turn = 0; turn < 4; turn++) {
      const results = Array.from({ length: turn }, (_, i) => log(i));
      for (const agent of agents) await send(proxy, agent, results);
    }
    await proxy.requestLines(16);
    const { shown, billed, turns, misses, requests } = await seen(proxy);
    expect(billed.map((one) => one.turns)).toEqual([4, 4, 4, 4]);
    expect(new Set(billed.map(({ conversationId }) => contentIdOf(conversationId))).size).toBe(1);
    expect(turns.map((of) => of.map(({ miss }) => miss))).toEqual(Array(4).fill(['first_request', null, null, null]));
    expect(misses.map(({ cause }) => cause)).toEqual(['first_request']);
    const names = billed.map(({ conversationId }) => conversationId).toSorted();
    expect(shown.map(({ name }) => name).toSorted()).toEqual(names);
    expect(shown.every(({ session, side, bill }) => session !== '' && !side && bill?.requests === 4)).toBe(true);
    expect([...new Set(requests.map(({ conversationId }) => conversationId))].toSorted()).toEqual(names);
  });

  it('without a session are distinguished by their messages', async () => {
    const { proxy } = await stage();
    const [one, other] = [chat('', 'a'), chat('', 'b')];
    await send(proxy, one, []);
    await send(proxy, one, [log(1)]);
    await proxy.requestLines(2);
    await send(proxy, other, []);
    await send(proxy, other, [log(2)]);
    await send(proxy, one, [log(1), log(3)]);
    await proxy.requestLines(5);
    const { billed, misses } = await seen(proxy);
    expect(billed.map((of) => of.turns).toSorted()).toEqual([2, 3]);
    expect(misses.map(({ cause }) => cause)).toEqual(['first_request']);
  });

  it('of sub-agents are listed under their session', async () => {
    const { proxy } = await stage();
    const main = messages('s1');
    await send(proxy, main, []);
    await send(proxy, main, [log(1)]);
    // the same words to another model, and other words
    const helpers = [messages('s1', { model: 'claude-haiku-5' }), messages('s1', { words: 'Read the invoices.' })];
    for (const helper of helpers) {
      await send(proxy, helper, []);
      await send(proxy, helper, [log(2)]);
    }
    await send(proxy, main, [log(1), log(3)]);
    await send(proxy, messages('s2'), [log(1)]);
    await proxy.requestLines(8);
    const { shown, misses } = await seen(proxy);
    expect(shown.map(({ session, side, bill }) => [session === shown[1]?.session, side, bill?.requests])).toEqual([
      [false, false, 1],
      [true, false, 3],
      [true, true, 2],
      [true, true, 2],
    ]);
    expect(misses.map(({ cause }) => cause)).toEqual(['first_request']);
  });
});

describe('a first request that failed', () => {
  it('counts as a request of its conversation but not as a turn, and its retry as a first request', async () => {
    const { proxy, failing } = await stage();
    for (const agent of [messages('s1'), chat('')]) {
      failing.now = true;
      await send(proxy, agent, []);
      await send(proxy, agent, []);
      failing.now = false;
      await send(proxy, agent, []);
      await send(proxy, agent, [log(1)]);
    }
    await proxy.requestLines(8);
    const { billed, turns, requests, shown } = await seen(proxy);
    expect(billed.map((one) => one.turns)).toEqual([2, 2]);
    expect(turns.map((of) => of.map(({ miss }) => miss))).toEqual(Array(2).fill(['first_request', null]));
    const ids = requests.map(({ conversationId }) => conversationId);
    expect(new Set(ids).size).toBe(2);
    expect(ids.filter((id) => id === ids[0])).toHaveLength(4);
    expect(shown.map(({ bill }) => bill?.requests)).toEqual([4, 4]);
  });
});
