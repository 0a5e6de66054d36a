import { describe, expect, it } from 'vitest';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';
import { named } from './cases.ts';

describe('the calls of an answer', () => {
  const callsIn = (answer: string): ReadonlyMap<string, number> => {
    const reader = new AnswerReader();
    reader.data(Buffer.from(answer));
    return reader.end().turn.calls;
  };
  const events = (...all: object[]): string => all.map((one) => `event: x\ndata: ${JSON.stringify(one)}\n\n`).join('');

  it.each([
    [
      'chat',
      JSON.stringify({
        choices: [
          {
            message: {
              tool_calls: [
                { id: '1', type: 'function', function: { name: 'fish', arguments: '{"function":{"name":"no"}}' } },
              ],
            },
          },
        ],
      }),
    ],
    [
      'a stream of chat',
      events(
        { choices: [{ delta: { tool_calls: [{ index: 0, id: '1', function: { name: 'fish', arguments: '' } }] } }] },
        { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{}' } }] } }] },
      ),
    ],
    [
      'messages',
      events({ type: 'content_block_start', content_block: { type: 'tool_use', id: '1', name: 'fish', input: {} } }),
    ],
    [
      'responses',
      events(
        { item: { type: 'function_call', call_id: '1', name: 'fish' } },
        {
          response: {
            tools: [{ type: 'function', name: 'no' }],
            output: [{ type: 'function_call', call_id: '1', name: 'fish' }],
          },
        },
      ),
    ],
    [
      'Gemini',
      JSON.stringify([{ candidates: [{ content: { parts: [{ functionCall: { name: 'fish', args: {} } }] } }] }]),
    ],
  ])('on %s are counted once each', (_wire, answer) => {
    expect([...callsIn(answer)]).toEqual([['fish', 1]]);
  });

  it.each(['first', 'last', 'only'] as const)('have their ids if the types of the events are placed %s', (where) => {
    const item = { type: 'function_call', call_id: 'c', name: 'bash', arguments: '{}' };
    const reader = new AnswerReader();
    reader.data(
      named(
        [
          { type: 'response.created', response: { id: 'resp_1' } },
          { type: 'response.output_item.done', item },
          { type: 'response.completed', response: { id: 'resp_1', output: [item] } },
        ],
        where,
      ),
    );
    const { id, items } = reader.end().turn;
    expect([id, items]).toEqual(['resp_1', [{ said: '', calls: [{ id: 'c', name: 'bash', args: '{}' }] }]]);
  });

  it("are never read from the model's text", () => {
    const words = events({ delta: { type: 'text_delta', text: '{"type":"tool_use","name":"fish"}' } });
    expect(callsIn(words).size).toBe(0);
  });
});
