import { openaiResponses } from '../../../../src/wires/dialects/openai-responses/dialect.ts';
import { describeDialect, type Turn } from '../../../contract/dialect.suite.ts';

type Item = Readonly<Record<string, unknown>>;

function itemsOf(turns: readonly Turn[]): Item[] {
  return turns.flatMap((turn): Item[] => {
    if ('user' in turn) return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: turn.user }] }];
    if ('results' in turn)
      return turn.results.map(({ id, text }) => ({ type: 'function_call_output', call_id: id, output: text }));
    const calls = turn.calls.map(({ id, name, args }) => ({
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: JSON.stringify(args),
    }));
    const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: turn.said }] };
    const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
    return [thought, ...(turn.said === '' ? [] : [said]), ...calls];
  });
}

function bodyOf(input: readonly Item[], behind: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ model: 'gpt-test', instructions: 'Be brief.', input, ...behind }));
}

/** As clients send back what was streamed to them: another order of keys, more metadata, other ids of items. */
function sentBack(item: Item): Item {
  const entries = Object.entries(item).filter(([key]) => key !== 'id');
  return { ...Object.fromEntries(entries.reverse()), id: 'new', status: 'completed', metadata: { turn_id: '1' } };
}

function shorthand(item: Item): Item {
  const [part, ...more] = Array.isArray(item.content) ? (item.content as Item[]) : [];
  return item.role === 'user' && part && more.length === 0 ? { role: 'user', content: part.text } : item;
}

function outputInParts(item: Item): Item {
  if (item.type !== 'function_call_output') return item;
  return {
    ...item,
    output: [
      { type: 'input_text', text: item.output },
      { type: 'input_image', image_url: 'data:,' },
    ],
  };
}

const usage = { input_tokens: 120, input_tokens_details: { cached_tokens: 64 }, output_tokens: 7 };
const counted = { promptTokens: 120, completionTokens: 7, cachedTokens: 64 };
const response = { id: 'resp_1', object: 'response', output: [], usage };
const stream = [
  { type: 'response.created', response: { id: 'resp_1', usage: null } },
  { type: 'response.output_text.delta', delta: '"usage":{"input_tokens":1}' },
  { type: 'response.completed', sequence_number: 9, response },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

describeDialect({
  dialect: openaiResponses,
  claims: [
    ['POST', '/v1/responses', 'generate'],
    ['POST', '/v1/openai/responses', 'generate'],
    ['POST', '/v1/responses/compact', 'compact'],
    ['GET', '/v1/responses', null],
    ['POST', '/v1/responses/resp_1/cancel', null],
    ['POST', '/v1/chat/completions', null],
  ],
  body: (turns, behind) => bodyOf(itemsOf(turns), behind),
  respelled: (turns) => [
    bodyOf(itemsOf(turns).map(sentBack)),
    bodyOf(itemsOf(turns).map(shorthand)),
    bodyOf(itemsOf(turns).map(outputInParts)),
    bodyOf([{ type: 'message', role: 'developer', content: 'Be brief.' }, ...itemsOf(turns)]),
    bodyOf(itemsOf(turns).filter(({ type }) => type !== 'reasoning')),
  ],
  ambiguous: (text) => {
    const json = JSON.stringify(text);
    const call = '{"type":"function_call","call_id":"c","name":"bash","arguments":"{}"}';
    const result = (fields: string): Buffer =>
      Buffer.from(`{"input":[${call},{"type":"function_call_output",${fields}}]}`);
    return [
      ['two outputs', result(`"call_id":"c","output":${json},"output":"b"`)],
      ['two ids', result(`"call_id":"c","call_id":"d","output":${json}`)],
      ['two types', result(`"type":"reasoning","call_id":"c","output":${json}`)],
      ['two texts in a part', result(`"call_id":"c","output":[{"type":"input_text","text":${json},"text":"b"}]`)],
      ['two lines of a shell', result(`"call_id":"c","output":[{"stdout":${json},"stdout":"b"}]`)],
    ];
  },
  many: (count) => Buffer.from(`{"input":[${'1,'.repeat(count - 1)}1]}`),
  answers: [
    { name: 'a whole answer', bytes: Buffer.from(JSON.stringify(response)), usage: counted },
    { name: 'a stream', bytes: Buffer.from(stream), usage: counted },
    { name: 'an answer without any', bytes: Buffer.from('{"id":"resp_1","output":[]}'), usage: null },
    { name: 'something else', bytes: Buffer.from('<html>'), usage: null },
  ],
});
