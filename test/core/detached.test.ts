import { expect, it } from 'vitest';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const dialect: Dialect = openaiResponses;
const of = (input: readonly object[], previous_response_id?: string) => ({
  body: Buffer.from(
    JSON.stringify({ model: 'gpt-6.2', include: ['reasoning.encrypted_content'], previous_response_id, input }),
  ),
  dialect,
});
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'shell', arguments: '{}' });
const result = (id: string, seed: number) => ({
  type: 'function_call_output',
  call_id: id,
  output: serverLog(200, seed),
});

it('results that continued an unknown answer have the same bytes when the whole history is sent', async () => {
  const store = openStore();
  const first = openPipeline({ store });
  // the process that received the answer ended before it was stored
  const alone = await first.rewrite(of([result('c1', 1)], 'resp_lost'));
  await first.answered('default', alone, {
    id: 'resp_2',
    items: [{ said: '', calls: [{ id: 'c2', name: 'shell', args: '{}' }] }],
    calls: new Map(),
  });
  const later = await first.rewrite(of([result('c2', 2), { role: 'user', content: 'And the cart?' }], 'resp_2'));
  const outputs = (body: Buffer) =>
    (JSON.parse(body.toString()) as { input: { output?: string }[] }).input.flatMap(({ output }) => output ?? []);
  expect([alone, later].map(({ edits }) => edits.length)).toEqual([1, 1]);
  const whole = await openPipeline({ store }).rewrite(
    of([
      { role: 'user', content: 'Why does the checkout fail?' },
      ...[call('c1'), result('c1', 1), call('c2'), result('c2', 2)],
      ...[
        { role: 'user', content: 'And the cart?' },
        { role: 'assistant', content: 'Done.' },
      ],
      { role: 'user', content: 'Thanks.' },
    ]),
  );
  expect(outputs(whole.body)).toEqual([...outputs(alone.body), ...outputs(later.body)]);
});
