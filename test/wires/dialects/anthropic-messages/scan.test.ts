import { describe, expect, it } from 'vitest';
import { anthropicMessages } from '../../../../src/wires/dialects/anthropic-messages/dialect.ts';
import { scanMessagesBody } from '../../../../src/wires/dialects/anthropic-messages/scan.ts';
import { decodeString } from '../../../../src/wires/json/cursor.ts';

function textsOf(content: unknown, role = 'user') {
  const bytes = Buffer.from(JSON.stringify({ messages: [{ role, content }] }));
  return scanMessagesBody(bytes).messages.flatMap(({ texts }) =>
    texts.map(({ literal, ...text }) => ({ ...text, text: decodeString(bytes, literal.start, literal.end) })),
  );
}

describe('texts of the messages wire that may be cut', () => {
  it('include results as plain text, blocks, documents and search results', () => {
    const result = (content: unknown) => textsOf([{ type: 'tool_result', tool_use_id: 't1', content }]);
    const piece = { type: 'text', text: 'a text' };
    const found = [{ use: 'result', callId: 't1', name: '', text: 'a text' }];
    expect(result('a text')).toEqual(found);
    expect(result([piece])).toEqual(found);
    expect(result([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a text' } }])).toEqual(
      found,
    );
    expect(result([{ type: 'search_result', source: 'https://a', title: 'T', content: [piece] }])).toEqual(found);
  });

  it("include the files in a user's message", () => {
    const document = {
      type: 'document',
      title: 'notes.md',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
    };
    const searched = { type: 'search_result', source: 's', title: 'page', content: [{ type: 'text', text: 'y' }] };
    expect(textsOf([{ type: 'text', text: 'words' }, document, searched])).toEqual([
      { use: 'words', callId: '', name: '', text: 'words' },
      { use: 'document', callId: '', name: 'notes.md', text: 'x' },
      { use: 'document', callId: '', name: 'page', text: 'y' },
    ]);
  });

  it.each([
    ['thinking', { type: 'thinking', thinking: 'long', signature: 's' }],
    ['redacted thinking', { type: 'redacted_thinking', data: 'long' }],
    ['a call of a server tool', { type: 'server_tool_use', id: 's', name: 'web_search', input: { text: 'long' } }],
    ['its result', { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'text', text: 'long' }] }],
    [
      'a result of a remote MCP server',
      { type: 'mcp_tool_result', tool_use_id: 's', content: [{ type: 'text', text: 'long' }] },
    ],
    ['a compaction', { type: 'compaction', content: 'long' }],
    ['an upload', { type: 'container_upload', file_id: 'long' }],
    ['a reference to a tool', { type: 'tool_reference', tool_name: 'long' }],
    ['a picture', { type: 'image', source: { type: 'text', data: 'long' } }],
    ['a document in base64', { type: 'document', source: { type: 'base64', data: 'long' } }],
    ['a kind nobody knows yet', { type: 'tool_result_2', content: 'long', text: 'long' }],
  ])('are never those of %s', (_name, block) => {
    expect(textsOf([block])).toEqual([]);
    expect(textsOf([{ type: 'tool_result', tool_use_id: 't', content: [block] }])).toEqual([]);
  });

  it('never include instructions in the middle of a conversation', () => {
    expect(textsOf('x', 'system').map(({ use }) => use)).toEqual(['other']);
    expect(textsOf([{ type: 'tool_result', tool_use_id: 't', content: 'x' }], 'system')).toEqual([
      { use: 'other', callId: '', name: '', text: 'x' },
    ]);
  });

  it('are found in linear time, however deeply they are nested', () => {
    const deep = (levels: number) => {
      const open = '{"type":"search_result","content":['.repeat(levels);
      return Buffer.from(`{"messages":[{"role":"user","content":[${open}${']}'.repeat(levels)}]}]}`);
    };
    expect(scanMessagesBody(deep(100_000)).messages[0]?.texts).toEqual([]);
  });
});

describe('a refusal of the history', () => {
  const refusal = (message: string) =>
    Buffer.from(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
  const words =
    'messages.3.content.0: Invalid signature in thinking block. The block is bound to a different conversation. Content before this block differs, first at messages.2.content.0.';

  it.each([
    ['Anthropic', refusal(words)],
    ['Anthropic, with backticks', refusal('messages.1.content.0: Invalid `signature` in `thinking` block')],
    ['words in another order', refusal('The thinking block at messages.1 carries a signature that is invalid.')],
    [
      'Bedrock',
      Buffer.from(
        '{"message":"The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block"}',
      ),
    ],
    [
      'a gateway that wraps the error in a string',
      Buffer.from(
        JSON.stringify({ error: { message: `AnthropicException - ${refusal(words).toString()}`, code: '400' } }),
      ),
    ],
  ])('is recognised: %s', (_name, answer) => {
    expect(anthropicMessages.refusesHistory?.(400, answer)).toBe(true);
  });

  it('is not recognised in other errors or with another status', () => {
    expect(anthropicMessages.refusesHistory?.(500, refusal(words))).toBe(false);
    expect(
      anthropicMessages.refusesHistory?.(400, refusal('messages.3: `thinking` blocks must have a signature')),
    ).toBe(false);
    expect(anthropicMessages.refusesHistory?.(400, refusal('max_tokens: field required'))).toBe(false);
    const missing = 'messages.1.content.0.thinking.signature: Field required';
    expect(anthropicMessages.refusesHistory?.(400, refusal(missing))).toBe(false);
  });
});
