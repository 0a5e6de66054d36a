import { describe, expect, it } from 'vitest';
import { AnswerReader } from '../../../../src/wires/dialects/answers/reader.ts';
import { googleInteractions } from '../../../../src/wires/dialects/google-interactions/dialect.ts';
import { describeDialect, type Turn } from '../../../contract/dialect.suite.ts';

type Step = Readonly<Record<string, unknown>>;

function stepsOf(turns: readonly Turn[], isParts = false): Step[] {
  return turns.flatMap((turn): Step[] => {
    if ('user' in turn) return [{ type: 'user_input', content: [{ type: 'text', text: turn.user }] }];
    if ('results' in turn) {
      return turn.results.map(({ id, text }) => ({
        type: 'function_result',
        call_id: id,
        name: id === 'call_1' ? 'bash' : 'read_file',
        result: isParts ? [{ type: 'text', text }] : text,
      }));
    }
    const calls = turn.calls.map(({ id, name, args }) => ({ type: 'function_call', id, name, arguments: args }));
    const thought = { type: 'thought', signature: 'c2ln', summary: [] };
    return [thought, { type: 'model_output', content: [{ type: 'text', text: turn.said }] }, ...calls];
  });
}

function bodyOf(input: unknown, behind: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ model: 'gemini-3-pro', system_instruction: 'Be careful.', input, ...behind }));
}

const turned = (step: Step): Step => Object.fromEntries(Object.entries(step).reverse());
const usage = { total_input_tokens: 120, total_cached_tokens: 64, total_output_tokens: 5, total_thought_tokens: 2 };
const counted = { promptTokens: 120, completionTokens: 7, reasoningTokens: 2, cachedTokens: 64 };

describeDialect({
  dialect: googleInteractions,
  claims: [
    ['POST', '/v1beta/interactions', 'generate'],
    ['POST', '/v1/interactions', 'generate'],
    ['GET', '/v1beta/interactions', null],
    ['POST', '/v1beta/interactions/i1/cancel', null],
    ['POST', '/v1beta/models/gemini-3-pro:generateContent', null],
    ['POST', '/other/interactions', null],
  ],
  body: (turns, behind) => bodyOf(stepsOf(turns), behind),
  respelled: (turns) => [bodyOf(stepsOf(turns).map(turned)), bodyOf(stepsOf(turns, true))],
  ambiguous: (text) => {
    const json = JSON.stringify(text);
    const call = '{"type":"function_call","id":"c","name":"bash","arguments":{}}';
    const result = (fields: string): Buffer =>
      Buffer.from(`{"model":"m","input":[${call},{"type":"function_result",${fields}}]}`);
    return [
      ['two results', result(`"call_id":"c","result":${json},"result":"b"`)],
      ['two ids', result(`"call_id":"c","call_id":"d","result":${json}`)],
      ['two types', result(`"type":"thought","call_id":"c","result":${json}`)],
      ['two outputs', result(`"call_id":"c","result":{"output":${json},"output":"b"}`)],
      ['two texts', result(`"call_id":"c","result":[{"type":"text","text":${json},"text":"b"}]`)],
    ];
  },
  many: (count) => Buffer.from(`{"input":[${'1,'.repeat(count - 1)}1]}`),
  answers: [
    { name: 'a whole answer', bytes: Buffer.from(JSON.stringify({ id: 'i1', steps: [], usage })), usage: counted },
    {
      name: 'a stream',
      bytes: Buffer.from(
        [
          { event_type: 'interaction.created', interaction: { id: 'i1', status: 'in_progress' } },
          { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'I look.' } },
          { event_type: 'interaction.completed', interaction: { id: 'i1', status: 'completed', usage } },
        ]
          .map((event) => `event: ${event.event_type}\ndata: ${JSON.stringify(event)}\n\n`)
          .join(''),
      ),
      usage: counted,
    },
    { name: 'an answer without any', bytes: Buffer.from('{"id":"i1","steps":[]}'), usage: null },
    { name: 'something else', bytes: Buffer.from('<html>'), usage: null },
  ],
});

describe('the interactions wire', () => {
  const read = (body: object) => googleInteractions.scan(Buffer.from(JSON.stringify(body)));

  it('reads an input that is a string, one content or a list of contents as text of the user', () => {
    const text = { type: 'text', text: 'Why?' };
    for (const input of ['Why?', text, [text]]) {
      const { messages } = read({ model: 'm', input });
      expect(messages.map(({ role, texts }) => [role, texts.map(({ use }) => use)])).toEqual([['user', ['words']]]);
    }
  });

  it('detects which interaction a request continues, and whether it includes thoughts', () => {
    const { previous, messages } = read({
      ...{ model: 'm', previous_interaction_id: 'i1' },
      input: [{ type: 'thought', signature: 's' }, { type: 'google_search_call' }, { type: 'google_search_result' }],
    });
    expect(previous).toBe('i1');
    expect(messages.map(({ role, reasoning = false }) => [role, reasoning])).toEqual([
      ['other', true],
      ['assistant', false],
      ['other', false],
    ]);
  });

  it('remembers the id and the calls of an answer, whole or streamed', () => {
    const call = { type: 'function_call', id: 'c1', name: 'bash', arguments: {} };
    const said = { type: 'model_output', content: [{ type: 'text', text: 'I look.' }] };
    const whole = { id: 'i1', steps: [{ type: 'thought' }, said, call] };
    const events = [
      { event_type: 'interaction.created', interaction: { id: 'i1' } },
      { event_type: 'step.start', index: 0, step: said },
      { event_type: 'step.start', index: 1, step: call },
      { event_type: 'interaction.completed', interaction: { id: 'i1', steps: [said, call] } },
    ];
    const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    for (const bytes of [JSON.stringify(whole), stream]) {
      const answer = new AnswerReader();
      answer.data(Buffer.from(bytes));
      const { turn } = answer.end();
      expect([turn.id, turn.calls.get('bash')]).toEqual(['i1', 1]);
      expect(turn.items).toEqual([
        { said: 'I look.', calls: [] },
        { said: '', calls: [{ id: 'c1', name: 'bash', args: '{}' }] },
      ]);
    }
  });

  it('distinguishes a missing interaction from a refusal of the content', () => {
    const answer = (status: string) => Buffer.from(JSON.stringify({ error: { code: 404, message: 'm', status } }));
    expect(googleInteractions.refusesToContinue?.(answer('NOT_FOUND'))).toBe(true);
    expect(googleInteractions.refusesToContinue?.(answer('INVALID_ARGUMENT'))).toBe(false);
  });
});
