import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RequestPipeline } from '../../src/core/request/pipeline.ts';
import { BodyDecoder, type DecodedBody } from '../../src/proxy/decode-body.ts';
import { WireHandler } from '../../src/proxy/wire-handler.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import { change } from '../../src/store/sql/steps.ts';
import { run } from '../cli/fake-io.ts';
import { chatBody, type Message, messageBytes, oneResult, toolTurn } from '../helpers/chat.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall, toolResult, toolUse, type WireMessage } from '../helpers/messages.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { zstdStored } from '../helpers/zstd-frame.ts';

/** A header with which a request never takes the lane. */
const USUAL_WAY = { cookie: 'a=b' };
const SMALL: readonly Message[] = [
  { role: 'system', content: 'You are a careful engineer.' },
  { role: 'user', content: 'Why does the checkout fail?' },
];

/** The turns of an agent: one large result, then small ones and a result that is looked up. */
function turns(): Message[][] {
  const first = oneResult(serverLog(400));
  const second = [
    ...first,
    { role: 'assistant', content: 'A payment fails.' },
    { role: 'user', content: 'Which one?' },
  ];
  const third = [...second, ...toolTurn('call_2', 'bash', { command: 'grep 500' }, 'status 500\n'.repeat(40))];
  const fourth = [...third, { role: 'assistant', content: 'That one.' }, { role: 'user', content: 'Thanks.' }];
  return [first, second, third, fourth, fourth];
}

/** Turns of the messages wire: the user's words, a large result, then small ones alone. */
function messagesTurns(): WireMessage[][] {
  const begun = oneCall(serverLog(400));
  const list: WireMessage[][] = [begun.slice(0, 1), begun];
  for (let i = 3; i <= 5; i++) {
    const id = `toolu_${i}`;
    const call = { role: 'assistant', content: [toolUse(id, 'Bash', { command: `step ${i}` })] };
    list.push([...(list.at(-1) ?? []), call, { role: 'user', content: [toolResult(id, `status ${i}`)] }]);
  }
  return list;
}

/** The requests of both wires: their paths and bodies. */
const WIRES = {
  chat: { path: '/v1/chat/completions', bodies: () => turns().map((messages) => chatBody(messages)) },
  messages: { path: '/v1/messages', bodies: () => messagesTurns().map((messages) => messagesBody(messages)) },
};

function answers() {
  return startUpstream(({ url }, res, index) => {
    const tokens = { input_tokens: 900 + index, output_tokens: 7, cache_read_input_tokens: 512 };
    if (url.endsWith('/messages')) return json(res, 200, { type: 'message', model: 'claude-test', usage: tokens });
    const usage = { prompt_tokens: 900 + index, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 512 } };
    json(res, 200, { model: 'gpt-test', choices: [{ message: { content: 'Yes.' } }], usage });
  });
}

/** Tokens of the answers to all turns. */
const TOKENS = 5 * 907 + 1 + 2 + 3 + 4;

/** What a server is set up with. */
interface Variant {
  readonly env?: Record<string, string>;
  readonly project?: readonly string[];
  /** Limits of the key with which the requests come. */
  readonly key?: readonly string[];
  readonly wire?: keyof typeof WIRES;
  /** Encodes the bodies, with its name in `content-encoding`. */
  readonly encoding?: keyof typeof ENCODERS;
}

const ENCODERS = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdStored };

/** Sets the settings of a project as an operator does, and waits until the server has them. */
async function setProject(proxy: TestProxy, args: readonly string[]): Promise<void> {
  const env = { MCP_PRUNER_DB_PATH: proxy.dbPath };
  const { code } = await run(['projects', 'set', 'default', ...args], { env, clock: { nowMs: () => Date.now() } });
  expect(code).toBe(0);
  await pause(1_000);
}

/** Makes a key, and returns the header with it. */
async function keyHeader({ dbPath }: TestProxy, limits: readonly string[]): Promise<Record<string, string>> {
  const env = { MCP_PRUNER_DB_PATH: dbPath };
  const args = ['keys', 'create', '--name', 'ci', '--project', '*', ...limits];
  const { out } = await run(args, { env, clock: { nowMs: () => Date.now() } });
  return { 'x-mcp-pruner-key': out.trim() };
}

/** How often the pipeline decided about a request from now on. */
function decided(): () => number {
  const rewrite = vi.spyOn(RequestPipeline.prototype, 'rewrite');
  rewrite.mockClear();
  return () => rewrite.mock.calls.length;
}

/** Plays the turns, and returns everything that anyone may see of them. */
async function played(more: Record<string, string>, setUp: Variant = {}) {
  const upstream = await answers();
  const proxy = await startProxy(upstream, { env: { MCP_PRUNER_CORRECTIONS: '', ...setUp.env } });
  if (setUp.project) await setProject(proxy, setUp.project);
  const headers = { ...more, ...(setUp.key && (await keyHeader(proxy, setUp.key))) };
  const calls = decided();
  const handle = vi.spyOn(WireHandler.prototype, 'handle').mockClear();
  const saved: (string | null)[] = [];
  const { encoding } = setUp;
  const encoded = (body: Buffer): Buffer => (encoding ? ENCODERS[encoding](body) : body);
  const { path, bodies } = WIRES[setUp.wire ?? 'chat'];
  for (const body of bodies()) {
    const named: Record<string, string> = encoding ? { 'content-encoding': encoding } : {};
    const common = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };
    const init = { method: 'POST', headers: { ...common, ...headers, ...named }, body: encoded(body) };
    const answer = await fetch(proxy.url + path, init);
    await answer.text();
    saved.push(answer.headers.get('x-mcp-pruner-tokens-saved'));
  }
  const lines = await proxy.requestLines(5);
  const metrics = await until(async () => {
    const page = await (await fetch(`${proxy.url}/metrics`, { headers })).text();
    return page.includes('mcp_pruner_dollars_total{') && page.includes('ledger_queued_requests 0') && page;
  });
  const store = openStore(proxy.dbPath);
  const tokens = await until(async () => {
    const counted = await (await store.keys()).counted();
    const used = counted.flatMap(({ span, used }) => (span === 'day' ? [used] : []));
    return (setUp.key === undefined || used[0] === TOKENS) && used;
  });
  await proxy.stop();
  const [conversation] = await store.ledger.conversations({ sinceMs: 0, limit: 9 });
  const billed = await store.ledger.turns({ conversationId: conversation?.conversationId ?? '', limit: 99 });
  const sums = await store.ledger.sums({ sinceDay: '2000-01-01' });
  const events = await store.events({ fromSeq: 0, limit: 999 });
  return {
    calls: calls(),
    tokens,
    handled: handle.mock.calls.length,
    bodies: upstream.requests.map(({ body }) => body.toString('latin1')),
    heads: upstream.requests.map(({ headers: { authorization, 'content-encoding': encoding } }) => [
      authorization,
      encoding,
    ]),
    saved,
    lines,
    metrics,
    billed,
    sums,
    events,
  };
}

/** What was reported, whatever was reported first: reports that wait for a meter may overtake each other. */
function inOrder(reported: readonly object[]): string[] {
  return reported.map((one) => withoutKey(JSON.stringify(one))).sort();
}

/** Without the name of a key, which is made anew for each server. */
function withoutKey(text: string): string {
  return text.replaceAll(/key_[\w-]{12}/g, 'key');
}

/** Expects that two servers have forwarded, logged, billed and counted the same. */
function expectSame(lane: Awaited<ReturnType<typeof played>>, usual: typeof lane): void {
  expect(lane.bodies).toEqual(usual.bodies);
  expect(lane.heads).toEqual(usual.heads);
  expect(lane.saved).toEqual(usual.saved);
  const plain = (line: object) => Object.entries(line).filter(([field]) => !/^(?:time|requestId|.*Ms)$/.test(field));
  expect(inOrder(lane.lines.map(plain))).toEqual(inOrder(usual.lines.map(plain)));
  const bills = (of: typeof lane) =>
    of.billed.map(({ requestId: _id, atMs: _at, ...bill }) => withoutKey(JSON.stringify(bill)));
  expect(bills(lane)).toHaveLength(5);
  expect(bills(lane)).toEqual(bills(usual));
  const withoutDeviation = (of: typeof lane) =>
    of.sums.map(({ value, ...sum }) => ({ ...sum, value: value.toFixed(9) }));
  expect(inOrder(withoutDeviation(lane))).toEqual(inOrder(withoutDeviation(usual)));
  expect(lane.tokens).toEqual(usual.tokens);
  const happened = (of: typeof lane) =>
    of.events.map(({ kind, payload: { total_ms: _ms, ...payload } }) => [kind, payload]);
  expect(inOrder(happened(lane))).toEqual(inOrder(happened(usual)));
  const counted = ({ metrics }: typeof lane) =>
    withoutKey(metrics)
      .split('\n')
      .filter((line) =>
        /^mcp_pruner_(?:requests|dollars|tokens|provider|prunes|candidates|fallbacks|first_byte_seconds_count)/.test(
          line,
        ),
      )
      .map((line) => line.replace(/\d+\.\d+$/, (dollars) => Number(dollars).toFixed(9))); // added up in another order
  expect(counted(lane)).toEqual(counted(usual));
}

describe('a request in which nothing is to be decided', () => {
  it('is forwarded without the pipeline, in the bytes it came in', async () => {
    const upstream = await answers();
    const proxy = await startProxy(upstream);
    await (await proxy.chat(chatBody(SMALL))).text();
    const calls = decided();
    const next = chatBody([...SMALL, { role: 'assistant', content: 'A bug.' }, { role: 'user', content: 'Fix it.' }]);
    const answer = await proxy.chat(next);
    expect(await answer.json()).toMatchObject({ model: 'gpt-test' });
    expect(answer.headers.get('x-mcp-pruner-request-id')).toMatch(/^[0-9A-Z]{26}$/);
    expect(calls()).toBe(0);
    expect(upstream.last.body.equals(next)).toBe(true);
  });

  it('repeats the cuts of its history, and leaves behind what a request of the usual way leaves', async () => {
    const [lane, usual] = [await played({}), await played(USUAL_WAY)];
    expect([lane.calls, usual.calls]).toEqual([1, 5]);
    expectSame(lane, usual);
    expect(Number(lane.saved.at(-1))).toBeGreaterThan(500);
    const [first, ...rest] = lane.bodies.map((body) => Buffer.from(body, 'latin1'));
    for (const body of rest)
      expect(body.subarray(0, messageBytes(first ?? body).length)).toEqual(messageBytes(first ?? body));
  });

  it.each<readonly [string, Variant]>([
    ['counts against a budget of its project', { project: ['--dollars-per-month', '50'] }],
    ['belongs to a project with a control group', { project: ['--holdout', '0.0001'] }],
    ['is compressed, and counts against a budget', { project: ['--dollars-per-month', '50'], encoding: 'gzip' }],
    [
      'counts against the limits of its key',
      {
        env: { MCP_PRUNER_REQUIRE_KEY: 'true' },
        key: ['--requests-per-minute', '1000', '--tokens-per-day', '1000000'],
      },
    ],
    ['gets the key of the server', { env: { MCP_PRUNER_UPSTREAM_API_KEY: 'sk-own' } }],
    ['is on a wire without summaries, while they are on', { env: { MCP_PRUNER_SEAMS: 'on' } }],
  ])('leaves behind the same if it %s', async (_what, variant) => {
    const headers: Record<string, string> = variant.env?.MCP_PRUNER_UPSTREAM_API_KEY ? { authorization: '' } : {};
    const [lane, usual] = [await played(headers, variant), await played({ ...headers, ...USUAL_WAY }, variant)];
    expect([lane.calls, usual.calls]).toEqual([1, 5]);
    expectSame(lane, usual);
  });

  it.each(['gzip', 'br', 'zstd'] as const)('may be compressed with %s', async (encoding) => {
    const [lane, usual] = [await played({}, { encoding }), await played(USUAL_WAY, { encoding })];
    expect([lane.calls, usual.calls]).toEqual([1, 5]);
    expectSame(lane, usual);
    expect(new Set(lane.heads.map(([, sent]) => sent))).toEqual(new Set([undefined])); // each repeats a cut, as plain JSON
    const off = { 'x-mcp-pruner': 'off' };
    const [plain, plainUsual] = [await played(off, { encoding }), await played({ ...off, ...USUAL_WAY }, { encoding })];
    expect([plain.handled, plainUsual.handled]).toEqual([1, 5]);
    expectSame(plain, plainUsual);
    expect(new Set(plain.heads.map(([, sent]) => sent))).toEqual(new Set([encoding]));
  });

  it('may be on a wire with summaries, while they are on, if it brings only results', async () => {
    const variant: Variant = { env: { MCP_PRUNER_SEAMS: 'on' }, wire: 'messages' };
    const [lane, usual] = [await played({}, variant), await played(USUAL_WAY, variant)];
    expect([lane.calls, usual.calls]).toEqual([2, 5]);
    expectSame(lane, usual);
    expect(Number(lane.saved.at(-1))).toBeGreaterThan(500);
  });

  it('is refused once a budget is used up, and one at a time before its first bill', async () => {
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 1 };
    const upstream = await startUpstream((_request, res) => json(res, 200, { model: 'gpt-5', choices: [], usage }));
    const proxy = await startProxy(upstream);
    await setProject(proxy, ['--dollars-per-month', '3']);
    const body = chatBody(SMALL, { model: 'gpt-5' });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) {
      const answer = await proxy.chat(body);
      await answer.text();
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
    expect(upstream.requests).toHaveLength(2);
  });

  it('leaves behind the same if pruning is switched off for it', async () => {
    const off = { 'x-mcp-pruner': 'off' };
    const [lane, usual] = [await played(off), await played({ ...off, ...USUAL_WAY })];
    expect([lane.handled, usual.handled]).toEqual([1, 5]);
    expectSame(lane, usual);
    expect(lane.bodies).toEqual(turns().map((messages) => chatBody(messages).toString('latin1')));
    expect(lane.lines.at(-1)).toMatchObject({ model: 'gpt-test', tokensSaved: 0 });
  });

  it('may have a history that came answered, and was never cut', async () => {
    const proxy = await startProxy(await answers());
    const [, , , history = []] = turns();
    const next = [...history, { role: 'assistant', content: 'Good.' }, { role: 'user', content: 'Go on.' }];
    await isDecided(proxy, SMALL);
    expect(await isDecided(proxy, history)).toBe(true);
    expect(await isDecided(proxy, history)).toBe(false);
    expect(await isDecided(proxy, next)).toBe(false);
  });

  it('is reported before the server ends', async () => {
    const proxy = await startProxy(await answers());
    await (await proxy.chat(chatBody(SMALL))).text();
    for (let i = 0; i < 20; i++) await (await proxy.chat(chatBody(SMALL))).text();
    await proxy.stop();
    expect((await proxy.logLines()).filter(({ msg }) => msg === 'model request')).toHaveLength(21);
  });

  it('is decoded once if it is compressed and has to be decided', async () => {
    const upstream = await answers();
    const proxy = await startProxy(upstream);
    const gzip = { 'content-encoding': 'gzip' };
    await (await proxy.chat(gzipSync(chatBody(SMALL)), gzip)).text();
    const decode = vi.spyOn(BodyDecoder.prototype, 'decode').mockClear();
    const calls = decided();
    await (await proxy.chat(gzipSync(chatBody(oneResult(serverLog(400)))), gzip)).text();
    const [first, second] = decode.mock.settledResults.map(({ value }) => value as DecodedBody);
    expect(calls()).toBe(1);
    expect(second?.kind === 'plain' && first?.kind === 'plain' && second.body === first.body).toBe(true);
    expect(String(upstream.last.body)).toContain('prune_id=prn_');
  });

  it('is reported if its client disconnects before its body is complete', async () => {
    const proxy = await startProxy(await answers());
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const send = (length: number, body: string) => {
      const headers = { authorization: 'Bearer sk-test', 'content-length': length };
      const sent = request(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, agent });
      const written = new Promise<void>((flushed) => sent.on('error', () => {}).write(body, () => flushed()));
      return { sent, written };
    };
    const whole = String(chatBody(SMALL));
    const [answer] = (await once(send(whole.length, whole).sent.end(), 'response')) as [IncomingMessage];
    answer.resume();
    await proxy.requestLines(1);
    const { sent: half, written } = send(whole.length, whole.slice(0, 20));
    await written;
    half.destroy();
    const [, line] = await proxy.requestLines(2);
    expect(line).toMatchObject({ status: 0, end: 'client_gone' });
  });
});

/** Whether the pipeline decided about a request. */
async function isDecided(
  proxy: TestProxy,
  messages: readonly Message[],
  headers: Record<string, string> = {},
): Promise<boolean> {
  const calls = decided();
  await (await proxy.chat(chatBody(messages), headers)).text();
  return calls() > 0;
}

describe('the pipeline decides about a request', () => {
  it.each([
    ['whose head is new', SMALL, { 'x-mcp-pruner-project': 'shop' }],
    ['with an unusual header', SMALL, { via: '1.1 other' }],
    ['with a large new text', oneResult(serverLog(400)), {}],
    ['that quotes a marker', [...SMALL, { role: 'user', content: 'What is prune_id=prn_0123456789AB?' }], {}],
  ] as const)('%s', async (_what, messages, headers) => {
    const proxy = await startProxy(await answers());
    await isDecided(proxy, SMALL);
    expect(await isDecided(proxy, SMALL)).toBe(false);
    expect(await isDecided(proxy, messages, headers)).toBe(true);
  });

  it.each([
    [
      'whose cuts another process has deleted',
      (store: StoreHandle) => store.sql.write(() => change('DELETE FROM main.prune')),
    ],
    [
      'after another process has set a directive',
      (store: StoreHandle) => {
        const directive = { segment: 'seg_1', action: 'pin', scope: '', upTo: -1 } as const;
        return store.segments.change({ project: 'default', set: [directive], clear: [] });
      },
    ],
  ])('%s', async (_what, work) => {
    const upstream = await answers();
    const proxy = await startProxy(upstream);
    const [cut = [], next = []] = turns();
    await isDecided(proxy, cut);
    expect(await isDecided(proxy, next)).toBe(false);
    await work(openStore(proxy.dbPath));
    expect(await isDecided(proxy, next)).toBe(true);
    const bodies = upstream.requests.map(({ body }) => String(body));
    expect(bodies.at(-1)).toBe(bodies.at(-2));
    expect(bodies.at(-1)).toContain('prune_id=prn_');
  });

  it.each([
    ['1', true],
    ['0.0001', false],
  ] as const)('that begins a conversation of the control group (share %s: %s)', async (share, isHeldOut) => {
    const proxy = await startProxy(await answers());
    await setProject(proxy, ['--holdout', share]);
    await isDecided(proxy, SMALL);
    expect(await isDecided(proxy, [...SMALL, { role: 'user', content: 'Only for cards of one bank.' }])).toBe(
      isHeldOut,
    );
  });

  it('whose conversation another process has continued on the same store', async () => {
    const upstream = await answers();
    const [first, second] = [await startProxy(upstream), await startProxy(upstream)];
    const replica = await startProxy(upstream, { dbPath: first.dbPath });
    await isDecided(second, SMALL);
    const [cut = [], next = []] = turns();
    await isDecided(first, cut);
    await isDecided(replica, SMALL);
    expect(await isDecided(replica, next)).toBe(true);
    const [, , , ...forwarded] = upstream.requests;
    expect(String(forwarded.at(-1)?.body)).toContain('prune_id=prn_');
  });
});
