import OpenAI, { APIConnectionError, APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, type Message, messagesOf, oneResult } from '../helpers/chat.ts';
import { type Answer, completion, event, json, lastEvents, refusal, startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn, rebuild } from '../helpers/markers.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

type Params = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;

const LOG = serverLog(400);

function clientOf(proxy: TestProxy, retries = 0): OpenAI {
  return new OpenAI({ apiKey: 'sk-test', baseURL: `${proxy.url}/v1`, maxRetries: retries });
}

function params(messages: readonly Message[] = oneResult(LOG)): Params {
  return { model: 'gpt-test', messages: messages as unknown as Params['messages'] };
}

async function setUp(answer?: Answer) {
  const upstream = await startUpstream(answer);
  const proxy = await startProxy(upstream);
  return { upstream, proxy, client: clientOf(proxy) };
}

describe('the official client', () => {
  it('gets a plain answer, while the upstream gets a pruned and recoverable result', async () => {
    const { upstream, proxy, client } = await setUp(completion('The payment of order 7 fails.'));
    const { data, response } = await client.chat.completions.create(params()).withResponse();
    expect(data.choices[0]?.message.content).toBe('The payment of order 7 fails.');
    expect(data.usage?.prompt_tokens_details?.cached_tokens).toBe(1024);
    const sent = contentAt(upstream.last.body, -1);
    expect(sent.length).toBeLessThan(LOG.length / 2);
    expect(markersIn(sent).length).toBeGreaterThan(0);
    expect(await rebuild(sent, proxy)).toBe(LOG);
    expect(upstream.last.headers.authorization).toBe('Bearer sk-test');
    expect(Number(response.headers.get('x-mcp-pruner-tokens-saved'))).toBeGreaterThan(1_000);
    expect(response.headers.get('x-mcp-pruner-request-id')).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  it('gets a streamed answer event by event', async () => {
    const { client } = await setUp(completion('one two three four'));
    const words: string[] = [];
    for await (const chunk of await client.chat.completions.create({ ...params(), stream: true })) {
      const word = chunk.choices[0]?.delta.content;
      if (word) words.push(word);
    }
    expect(words).toEqual(['one ', 'two ', 'three ', 'four']);
  });

  it('gets the first event before the upstream sends the second', async () => {
    let goOn: () => void = () => {};
    const seen = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { client } = await setUp(async (_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('first'));
      await seen; // would wait for ever if the proxy held the first event back
      res.write(event('second'));
      res.end(lastEvents());
    });
    const words: string[] = [];
    for await (const chunk of await client.chat.completions.create({ ...params(), stream: true })) {
      const word = chunk.choices[0]?.delta.content;
      if (word) words.push(word);
      goOn();
    }
    expect(words).toEqual(['first', 'second']);
  });

  it('runs tools to the end, with every result pruned the same way in each round', async () => {
    const rounds: Record<string, unknown>[] = [
      {
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'readLog', arguments: '{"which":1}' } }],
      },
      {
        content: null,
        tool_calls: [{ id: 'c2', type: 'function', function: { name: 'readLog', arguments: '{"which":2}' } }],
      },
      { content: 'Order 7.' },
    ];
    const { upstream, client } = await setUp((_request, res, index) =>
      json(res, 200, {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-test',
        choices: [
          {
            index: 0,
            finish_reason: index < 2 ? 'tool_calls' : 'stop',
            message: { role: 'assistant', ...rounds[index] },
          },
        ],
      }),
    );
    const runner = client.chat.completions.runTools({
      model: 'gpt-test',
      messages: [{ role: 'user', content: 'Which payment of the log fails, and why?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'readLog',
            description: 'Reads a log.',
            parameters: { type: 'object', properties: { which: { type: 'number' } } },
            parse: (text: string) => JSON.parse(text) as { which: number },
            function: ({ which }: { which: number }) => serverLog(300, which),
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('Order 7.');
    const sent = upstream.requests.map(({ body }) => messagesOf(body));
    expect(sent.map((messages) => messages.length)).toEqual([1, 3, 5]);
    expect(sent[2]?.slice(0, 3)).toEqual(sent[1]);
    for (const index of [2, 4]) expect(markersIn(String(sent[2]?.[index]?.content)).length).toBeGreaterThan(0);
  });

  it.each([
    [400, 'invalid_request_error', {}],
    [401, 'invalid_api_key', { 'www-authenticate': 'Bearer' }],
    [403, 'forbidden', {}],
    [404, 'model_not_found', {}],
    [429, 'rate_limit_exceeded', { 'retry-after': '7', 'x-ratelimit-remaining-requests': '0' }],
    [500, 'server_error', {}],
    [503, 'overloaded', { 'retry-after': '2' }],
  ])('sees %s as the upstream sends it', async (status, code, headers: Record<string, string>) => {
    const { client } = await setUp(refusal(status, code, headers));
    const error = await client.chat.completions.create(params(oneResult('short'))).catch((caught: unknown) => caught);
    if (!(error instanceof APIError)) throw error;
    expect({ status: error.status, code: error.code }).toEqual({ status, code });
    expect(error.message).toContain(`upstream says ${code}`);
    for (const [name, value] of Object.entries(headers)) expect(error.headers?.get(name)).toBe(value);
  });

  it('retries on its own, and the upstream receives the same pruned bytes again', async () => {
    const { upstream, proxy } = await setUp((request, res, index) =>
      index === 0
        ? refusal(429, 'slow', { 'retry-after-ms': '5' })(request, res, index)
        : completion()(request, res, index),
    );
    await clientOf(proxy, 2).chat.completions.create(params());
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.requests[1]?.body.equals(upstream.requests[0]?.body ?? Buffer.alloc(0))).toBe(true);
  });

  it('aborts a stream, and the upstream sees it at once', async () => {
    const { upstream, client } = await setUp((_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('first'));
    });
    const stream = await client.chat.completions.create({ ...params(), stream: true });
    for await (const _chunk of stream) break;
    stream.controller.abort();
    await until(() => upstream.last.gone.aborted); // whose answer would never end by itself
  });

  it('aborts before the answer begins, and the upstream sees it at once', async () => {
    const { upstream, client } = await setUp(() => {});
    const abort = new AbortController();
    const answer = client.chat.completions
      .create(params(), { signal: abort.signal })
      .catch((caught: unknown) => caught);
    await until(() => upstream.requests.length === 1);
    abort.abort();
    await until(() => upstream.last.gone.aborted); // whose answer would never end by itself
    expect(await answer).toBeInstanceOf(Error);
  });

  it('sees a connection break in mid-stream, as without the proxy', async () => {
    const { client } = await setUp((_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('first'), () => res.destroy());
    });
    const words: string[] = [];
    const broken = (async () => {
      for await (const chunk of await client.chat.completions.create({ ...params(), stream: true })) {
        words.push(chunk.choices[0]?.delta.content ?? '');
      }
    })();
    await expect(broken).rejects.toThrow();
    expect(words).toEqual(['first']);
  });

  it('receives an API error with a code if the upstream is unreachable', async () => {
    const { upstream, client } = await setUp();
    await upstream.close();
    const error = await client.chat.completions.create(params()).catch((caught: unknown) => caught);
    if (!(error instanceof APIError) || error instanceof APIConnectionError) throw error;
    expect(error.status).toBe(502);
    expect(error.code).toBe('upstream_unreachable');
  });

  it('lists models and requests embeddings through the same address', async () => {
    const { upstream, client } = await setUp((request, res) =>
      json(
        res,
        200,
        request.url === '/v1/models'
          ? { object: 'list', data: [{ id: 'm', object: 'model' }] }
          : { object: 'list', data: [{ index: 0, embedding: [0.5, 0.25], object: 'embedding' }] },
      ),
    );
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(['m']);
    const { data } = await client.embeddings.create({ model: 'e', input: LOG, encoding_format: 'float' });
    expect(data[0]?.embedding).toEqual([0.5, 0.25]);
    expect(JSON.parse(upstream.last.body.toString('utf8'))).toMatchObject({ input: LOG });
  });

  it('gets eighty simultaneous answers, each to its own request', async () => {
    const { upstream, proxy, client } = await setUp((request, res) => {
      const user = messagesOf(request.body)[1]?.content;
      json(res, 200, {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: user } }],
      });
    });
    const texts = Array.from({ length: 80 }, (_, i) =>
      serverLog(60, i * 1_000).replaceAll('/v1/items', `/v1/only-in-${i}-`),
    );
    const answers = await Promise.all(
      texts.map((text, i) =>
        client.chat.completions.create(
          params([
            { role: 'system', content: 's' },
            { role: 'user', content: `Question ${i}, about the payment that fails.` },
            ...oneResult(text).slice(2),
          ]),
        ),
      ),
    );
    answers.forEach((answer, i) => {
      expect(answer.choices[0]?.message.content).toBe(`Question ${i}, about the payment that fails.`);
    });
    for (const { body } of upstream.requests) {
      const i = /Question (\d+),/.exec(body.toString('utf8'))?.[1];
      const others = new Set([...body.toString('utf8').matchAll(/only-in-(\d+)-/g)].map(([, owner]) => owner));
      expect(others.size === 0 || (others.size === 1 && others.has(i))).toBe(true);
    }
    const some = contentAt(upstream.requests[40]?.body ?? Buffer.alloc(0), -1);
    const owner = /only-in-(\d+)-/.exec(some)?.[1];
    expect(await rebuild(some, proxy)).toBe(texts[Number(owner)]);
  });
});

describe('a pruned request that the upstream refuses', () => {
  it.each([400, 422])(
    'with %s is sent once more unpruned, and the conversation stays unpruned, even after a restart',
    async (status) => {
      const refusesPruned: Answer = (request, res, index) =>
        request.body.includes('prune_id=')
          ? refusal(status, 'bad')(request, res, index)
          : completion('Fine.')(request, res, index);
      const { upstream, proxy } = await setUp(refusesPruned);
      const first = chatBody(oneResult(LOG));
      const answer = await proxy.chat(first);
      expect([answer.status, answer.headers.get('x-mcp-pruner-tokens-saved')]).toEqual([200, '0']);
      expect(await answer.text()).toContain('Fine.');
      expect(upstream.requests).toHaveLength(2);
      expect(upstream.requests[1]?.body.equals(first)).toBe(true);

      const next = chatBody([
        ...oneResult(LOG),
        { role: 'assistant', content: 'Hm.' },
        { role: 'user', content: 'Go on.' },
      ]);
      await (await proxy.chat(next)).text();
      await proxy.restart();
      await (await proxy.chat(next)).text();
      expect(upstream.requests.slice(2).map(({ body }) => body.equals(next))).toEqual([true, true]);

      const lines = await proxy.requestLines(3);
      expect(lines.map(({ fallbacks }) => fallbacks)).toEqual([
        [`upstream_refused_${status}`],
        ['left_alone'],
        ['left_alone'],
      ]);
      await (await proxy.chat(chatBody(oneResult(serverLog(400, 5))))).text();
      expect(upstream.requests.at(-2)?.body.includes('prune_id=')).toBe(true);
    },
  );

  it('has its refusal passed on once a pruned turn of the conversation was accepted', async () => {
    const { upstream, proxy } = await setUp((request, res, index) =>
      index === 0 ? completion('Fine.')(request, res, index) : refusal(400, 'no')(request, res, index),
    );
    await (await proxy.chat(chatBody(oneResult(LOG)))).text();
    const next = [...oneResult(LOG), { role: 'assistant', content: 'Hm.' }, { role: 'user', content: 'Go on.' }];
    const answer = await proxy.chat(chatBody(next));
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('upstream says no')]);
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.last.body.includes('prune_id=')).toBe(true);
    expect((await proxy.requestLines(2)).at(-1)?.fallbacks).toEqual(['upstream_refused_400']);
  });

  it('is answered with the refusal of the unpruned request if that is refused as well', async () => {
    const { upstream, proxy } = await setUp((request, res, index) =>
      refusal(400, request.body.includes('prune_id=') ? 'pruned' : 'original')(request, res, index),
    );
    const answer = await proxy.chat(chatBody(oneResult(LOG)));
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('upstream says original');
    expect(upstream.requests).toHaveLength(2);
  });

  it.each([401, 403, 404, 408, 409, 429, 500, 502, 503, 529])(
    'with %s is not sent again, and the answer is passed on',
    async (status) => {
      const { upstream, proxy } = await setUp(refusal(status, 'no'));
      const answer = await proxy.chat(chatBody(oneResult(LOG)));
      expect(answer.status).toBe(status);
      await answer.text();
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it('is not sent again if nothing was pruned', async () => {
    const { upstream, proxy } = await setUp(refusal(400, 'no'));
    expect((await proxy.chat(chatBody(oneResult('short')))).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });
});
