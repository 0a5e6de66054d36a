import { describe, expect, it } from 'vitest';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { PRUNE_OPTIONS } from '../../../test/helpers/prune-options.ts';
import { SocketClient } from '../../../test/helpers/socket-client.ts';
import { until } from '../../../test/helpers/until.ts';
import { aLog, keys, Member, PLACES, startTeam } from './team.ts';

const PROVIDER = { authorization: 'Bearer sk-provider' };
const HELLO = chatBody(oneResult('short'));
const HOUR_MS = 3_600_000;

/** A clock in the middle of a minute and of a day, which the test moves. */
const aClock = () => ({ now: Date.UTC(2026, 5, 1, 12, 0, 30), nowMs: () => clock.now });
let clock = aClock();

describe.each(PLACES)('the limits of a key on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('apply to the requests per minute of three servers together', async () => {
    clock = aClock();
    const place = await open();
    const stages = await Promise.all([1, 2, 3].map(() => startTeam(place, {}, clock)));
    const [first] = stages;
    if (!first) throw new Error('no server');
    const limited = ['create', '--name', 'l', '--project', 'p', '--requests-per-minute', '10'];
    const [key, free] = await Promise.all([
      keys(place, ...limited),
      keys(place, 'create', '--name', 'f', '--project', 'p'),
    ]);
    const ask = (n: number, by = key) =>
      new Member(stages[n % 3] ?? first, by).send('/v1/chat/completions', HELLO, PROVIDER);
    const statuses = await Promise.all(Array.from({ length: 40 }, async (_, n) => (await ask(n)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
    const { headers, body } = await ask(0);
    expect(headers['retry-after']).toBe('30');
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'key_requests_used_up' } });
    const member = new Member(first, key);
    const messages = await member.send('/v1/messages', messagesBody(oneCall('short')), PROVIDER);
    expect([messages.status, JSON.parse(messages.body.toString())]).toMatchObject([
      429,
      { type: 'error', error: { type: 'rate_limit_error' } },
    ]);
    const gemini = await member.send('/v1beta/models/g:generateContent', '{}', PROVIDER);
    expect([gemini.status, JSON.parse(gemini.body.toString())]).toMatchObject([429, { error: { code: 429 } }]);
    expect((await member.send('/v1/models', undefined, PROVIDER)).status).toBe(429);
    // a request by another name is one all the same
    expect((await member.send('/rpc/v1/messages', messagesBody(oneCall('short')), PROVIDER)).status).toBe(429);
    // what asks no model is in no limit, and nobody else is held up
    expect((await member.rpc('tools/list', {})).result).toBeDefined();
    expect((await ask(1, free)).status).toBe(200);
    clock.now += 30_000;
    expect((await ask(2)).status).toBe(200);
    const sent = stages.reduce((sum, { upstream }) => sum + upstream.requests.length, 0);
    expect(sent).toBe(12);
  });

  it.skipIf(!runs)('count the tokens that the provider reports, until the day is over', async () => {
    clock = aClock();
    const place = await open();
    const stages = await Promise.all([1, 2].map(() => startTeam(place, {}, clock)));
    for (const { upstream } of stages) {
      upstream.answer = (_request, res) =>
        json(res, 200, { choices: [], usage: { prompt_tokens: 300, completion_tokens: 100 } });
    }
    const key = await keys(place, 'create', '--name', 't', '--project', 'p', '--tokens-per-day', '1000');
    const ask = async (n: number) => {
      const stage = stages[n % 2];
      return stage ? new Member(stage, key).send('/v1/chat/completions', HELLO, PROVIDER) : Promise.reject(new Error());
    };
    for (const n of [0, 1, 2]) expect((await ask(n)).status).toBe(200);
    // what an answer came to is counted a moment after it
    const { headers, body } = await until(async () => {
      const answer = await ask(3);
      return answer.status === 429 && answer;
    });
    const sent = stages.reduce((sum, { upstream }) => sum + upstream.requests.length, 0);
    expect([3, 4]).toContain(sent);
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'key_tokens_used_up' } });
    expect(Number(headers['retry-after'])).toBe((12 * HOUR_MS - 30_000) / 1000);
    clock.now += 12 * HOUR_MS;
    expect((await ask(4)).status).toBe(200);
  });

  it.skipIf(!runs)('count requests in progress, so that forty exceed the daily tokens by one at most', async () => {
    clock = aClock();
    const place = await open();
    const stages = await Promise.all([1, 2].map(() => startTeam(place, {}, clock)));
    for (const { upstream } of stages) {
      upstream.answer = (_request, res) =>
        json(res, 200, { choices: [], usage: { prompt_tokens: 900, completion_tokens: 100 } });
    }
    const key = await keys(place, 'create', '--name', 't', '--project', 'p', '--tokens-per-day', '10500');
    const ask = (n: number) =>
      Promise.all(
        stages
          .slice(n % 2, (n % 2) + 1)
          .map((stage) => new Member(stage, key).send('/v1/chat/completions', HELLO, PROVIDER)),
      );
    await ask(0);
    await ask(1);
    // each server has seen what a request comes to
    await until(async () => stages.every(({ upstream }) => upstream.requests.length === 1));
    await Promise.all(Array.from({ length: 40 }, (_, n) => ask(n)));
    const sent = stages.reduce((sum, { upstream }) => sum + upstream.requests.length, 0);
    expect(sent).toBeGreaterThanOrEqual(10);
    expect(sent).toBeLessThanOrEqual(12);
  });

  it.skipIf(!runs)(
    'admit one request at a time until a first answer arrives, so that a burst uses the tokens only once',
    async () => {
      clock = aClock();
      const place = await open();
      const stages = await Promise.all([1, 2].map(() => startTeam(place, {}, clock)));
      const answer: (() => void)[] = [];
      for (const { upstream } of stages) {
        upstream.answer = (_request, res) => {
          answer.push(() => json(res, 200, { choices: [], usage: { prompt_tokens: 900, completion_tokens: 100 } }));
        };
      }
      const key = await keys(place, 'create', '--name', 't', '--project', 'p', '--tokens-per-day', '1000');
      const burst = Array.from({ length: 20 }, async (_, n) => {
        const stage = stages[n % 2];
        return stage ? new Member(stage, key).send('/v1/chat/completions', HELLO, PROVIDER) : null;
      });
      const answers = Promise.all(burst);
      const [first] = await until(() => answer.length > 0 && answer);
      // the others are refused while it is under way, and asked to retry in a moment
      const early = await Promise.race(burst);
      expect([early?.status, early?.headers['retry-after']]).toEqual([429, '2']);
      expect(JSON.parse(early?.body.toString() ?? '')).toMatchObject({ error: { code: 'key_first_answer_awaited' } });
      first?.();
      const statuses = (await answers).map((one) => one?.status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 429)).toHaveLength(19);
      const next = await until(async () => {
        const { body } = await new Member(stages[0] ?? (await startTeam(place)), key).send(
          '/v1/chat/completions',
          HELLO,
          PROVIDER,
        );
        const { error } = JSON.parse(body.toString()) as { error: { code: string } };
        return error.code !== 'key_first_answer_awaited' && error.code;
      });
      expect(next).toBe('key_tokens_used_up');
      expect(answer).toHaveLength(1);
    },
  );

  it.skipIf(!runs)('count texts of prune_text, prune_batch and /prune, but not recover_text', async () => {
    clock = aClock();
    const place = await open();
    const stage = await startTeam(place, {}, clock);
    const limited = ['create', '--name', 'l', '--project', 'p', '--requests-per-minute', '4', '--tokens-per-day', '1'];
    const member = new Member(stage, await keys(place, ...limited));
    const text = aLog(1);
    const options = { ...PRUNE_OPTIONS, min_keep_lines: 1 };
    const entry = { text, goal_hint: 'payment', source_type: 'logs', options };
    const { prune_id } = (await member.call('prune_text', entry)) as { prune_id: string };
    expect(await member.call('prune_batch', { entries: [entry, entry] })).toHaveProperty('results');
    expect((await member.send('/prune', { code: text, query: 'payment' })).status).toBe(200);

    const over = { error: { code: -32014, message: 'key_requests_used_up', data: { retry_after_ms: 30_000 } } };
    expect(await member.call('prune_text', entry)).toMatchObject(over);
    expect(await member.call('prune_batch', { entries: [entry] })).toMatchObject(over);
    const refused = await member.send('/prune', { code: text, query: 'payment' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '30']);
    expect(JSON.parse(refused.body.toString())).toMatchObject({ error: { type: 'key_requests_used_up' } });
    expect((await member.send('/v1/chat/completions', HELLO, PROVIDER)).status).toBe(429);

    const recovery = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'recover_text', arguments: {} } };
    expect((await member.send('/mcp', recovery)).status).toBe(200);
    for (let i = 0; i < 6; i++) expect(await member.recover(prune_id)).toHaveProperty('raw_text');
    clock.now += 30_000;
    expect(await member.call('prune_text', entry)).toMatchObject({ prune_id });
  });

  it.skipIf(!runs)('apply only to POST requests: a WebSocket is refused for a key with limits', async () => {
    clock = aClock();
    const place = await open();
    const stage = await startTeam(place, {}, clock);
    const limited = await keys(place, 'create', '--name', 'l', '--project', 'p', '--requests-per-minute', '10');
    const { status } = await new Member(stage, limited).send('/page/api/session');
    expect(status).toBe(200);
    const url = stage.url.replace('http', 'ws');
    const socket = new SocketClient(`${url}/k/${limited}/v1/responses`, [], { headers: PROVIDER });
    expect((await socket.closed)[0]).toBe(1006);
    expect(stage.upstream.requests).toEqual([]);
  });
});
