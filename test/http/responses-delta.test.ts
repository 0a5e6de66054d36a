import { describe, expect, it } from 'vitest';
import { type Answer, json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';

const CALL = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'shell',
  arguments: '{"command":["bash","-lc","npm run checkout"]}',
};
const USAGE = { input_tokens: 10, output_tokens: 5 };

const whole: Answer = (_request, res) =>
  json(res, 200, { id: 'resp_1', object: 'response', output: [CALL], usage: USAGE });

const streamed: Answer = (_request, res) => {
  const event = (value: Readonly<Record<string, unknown>>) =>
    `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write(event({ type: 'response.created', response: { id: 'resp_1', output: [] } }));
  res.write(event({ type: 'response.output_item.done', output_index: 0, item: CALL }));
  res.end(event({ type: 'response.completed', response: { id: 'resp_1', output: [CALL], usage: USAGE } }));
};

async function post(proxy: TestProxy, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify({ model: 'gpt-test', ...body }) };
  await (await fetch(`${proxy.url}/v1/responses`, request)).text();
}

const question = { input: 'Why does the checkout fail for some customers? Find the failing payment.' };
const delta = {
  previous_response_id: 'resp_1',
  input: [{ type: 'function_call_output', call_id: 'call_1', output: serverLog(900) }],
};

describe('a request that continues an answer stored by the provider', () => {
  it.each([
    { name: 'whole', answer: whole, restart: false },
    { name: 'streamed', answer: streamed, restart: false },
    { name: 'streamed', answer: streamed, restart: true },
  ])('finds the call that its result answers (answer $name, restart: $restart)', async ({ answer, restart }) => {
    const upstream = await startUpstream(answer);
    const proxy = await startProxy(upstream);
    await post(proxy, question);
    if (restart) await proxy.restart();
    await post(proxy, delta);
    const [first, second] = await proxy.requestLines(2);
    expect(second).toMatchObject({ wire: 'responses', pruned: 1, new: [{ tool: 'shell' }] });
    expect(second?.conversationId).toBe(first?.conversationId);
    expect(upstream.last.body.length).toBeLessThan(15_000);
    const sent = upstream.last.body;
    // sent again it is the same, also by a proxy that has to look everything up
    await proxy.restart();
    await post(proxy, delta);
    expect(upstream.last.body.equals(sent)).toBe(true);
  });

  it('is pruned even if the answer is unknown', async () => {
    const upstream = await startUpstream(whole);
    const proxy = await startProxy(upstream);
    await post(proxy, delta);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ pruned: 1, new: [{ tool: '' }] });
  });
});
