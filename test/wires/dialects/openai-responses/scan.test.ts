import { describe, expect, it } from 'vitest';
import { AnswerReader } from '../../../../src/wires/dialects/answers/reader.ts';
import { scanResponsesBody } from '../../../../src/wires/dialects/openai-responses/scan.ts';
import { decodeString } from '../../../../src/wires/json/cursor.ts';

function scanned(input: unknown) {
  const bytes = Buffer.from(JSON.stringify({ input }));
  return scanResponsesBody(bytes).messages.map(({ role, texts, calls }) => ({
    role,
    texts: texts.map(({ literal, use, callId }) => [use, callId, decodeString(bytes, literal.start, literal.end)]),
    calls: calls.map(({ id, name, args }) => [id, name, bytes.toString('utf8', args?.start, args?.end)]),
  }));
}

describe('items of the responses wire', () => {
  it.each([
    ['a custom tool', { type: 'custom_tool_call_output', call_id: 'c', output: 'x' }, ['x']],
    [
      'a tool, in parts',
      { type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
      ['x'],
    ],
    [
      'the local shell, by the id of the item',
      { type: 'local_shell_call_output', id: 'c', output: '{"output":"x"}' },
      ['{"output":"x"}'],
    ],
    [
      'a shell',
      { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'x', stderr: 'y', outcome: { type: 'exit' } }] },
      ['x', 'y'],
    ],
  ])('show the result of %s', (_name, item, texts) => {
    expect(scanned([item])).toEqual([{ role: 'tool', texts: texts.map((text) => ['result', 'c', text]), calls: [] }]);
  });

  it.each([
    ['a patch', { type: 'apply_patch_call_output', call_id: 'c', output: 'x' }, 'other'],
    ['a remote tool', { type: 'mcp_call', id: 'c', arguments: '{}', output: 'x' }, 'assistant'],
    ['a search', { type: 'web_search_call', id: 'c', output: 'x', content: 'x' }, 'assistant'],
    ['reasoning', { type: 'reasoning', content: [{ type: 'input_text', text: 'x' }], summary: [] }, 'other'],
    ['a compaction', { type: 'compaction', encrypted_content: 'x', content: 'x' }, 'other'],
    ['a reference', { type: 'item_reference', id: 'c' }, 'other'],
    ['instructions', { type: 'message', role: 'developer', content: 'x' }, 'other'],
    ['a kind nobody knows yet', { type: 'function_call_output_2', output: 'x', content: 'x', role: 'user' }, 'other'],
  ])('never show a text of %s', (_name, item, role) => {
    expect(scanned([item])).toEqual([{ role, texts: [], calls: [] }]);
  });

  it('contain the calls of every kind, with the namespace in front of the name', () => {
    expect(
      scanned([
        { type: 'function_call', id: 'i', call_id: 'c', name: 'recover_text', namespace: 'mcp__p', arguments: '{}' },
        { type: 'custom_tool_call', id: 'i', call_id: 'c', name: 'exec', input: 'ls' },
        { type: 'local_shell_call', id: 'i', call_id: 'c', action: { command: ['ls'] } },
        { type: 'shell_call', id: 'i', call_id: 'c', action: { commands: ['ls'] } },
      ]).flatMap(({ calls }) => calls),
    ).toEqual([
      ['c', 'mcp__p__recover_text', '"{}"'],
      ['c', 'exec', '"ls"'],
      ['c', 'local_shell_call', '{"command":["ls"]}'],
      ['i', 'local_shell_call', '{"command":["ls"]}'],
      ['c', 'shell_call', '{"commands":["ls"]}'],
    ]);
  });

  it('are one user message if the input is one string', () => {
    expect(scanned('Why?')).toEqual([{ role: 'user', texts: [['words', '', 'Why?']], calls: [] }]);
  });

  it('name the answer that they continue', () => {
    const body = { previous_response_id: 'resp_1', input: [] };
    expect(scanResponsesBody(Buffer.from(JSON.stringify(body))).previous).toBe('resp_1');
  });
});

describe('an answer of the responses wire', () => {
  const call = { type: 'function_call', id: 'fc', call_id: 'c', name: 'bash', arguments: '{"command":"ls"}' };
  const message = { type: 'message', content: [{ type: 'output_text', text: 'I look.' }] };
  const events = [
    { type: 'response.output_item.done', item: message },
    { type: 'response.output_item.done', item: call },
    { type: 'response.completed', response: { id: 'resp_7', output: [message, call], usage: null } },
  ];
  const turn = {
    id: 'resp_7',
    items: [
      { said: 'I look.', calls: [] },
      { said: '', calls: [{ id: 'c', name: 'bash', args: '{"command":"ls"}' }] },
    ],
    calls: new Map([['bash', 1]]),
  };

  it('contains its texts and its calls in order, each once, streamed or complete', () => {
    const streamed = new AnswerReader();
    for (const event of events) streamed.data(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    expect(streamed.end().turn).toEqual(turn);
    const whole = new AnswerReader();
    whole.data(Buffer.from(JSON.stringify({ id: 'resp_7', output: [message, call] })));
    expect(whole.end().turn).toEqual(turn);
  });

  it('has no id if it did not end', () => {
    const reader = new AnswerReader();
    reader.data(Buffer.from(`data: ${JSON.stringify(events[1])}\n\n`));
    expect(reader.end().turn.id).toBe('');
  });
});
