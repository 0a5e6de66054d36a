import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import { messagesOf } from 'mcp-pruner/proxy/report/message-facts.ts';
import { describe, expect, it } from 'vitest';

/** A request of tiny messages; a repeated one has the same objects. */
function conversation(conversationId: string, count: number): RewrittenRequest {
  const messages = Array.from({ length: count }, (_, i) => ({ span: { start: i, end: i + 1 } }));
  const request = { conversationId, messages, prefixes: [], edits: [], outcomes: [], received: Buffer.alloc(count) };
  return request as unknown as RewrittenRequest;
}

describe('message facts', () => {
  it('are remembered for the next request of a conversation', () => {
    const request = conversation('short', 3);
    const first = messagesOf(request, false);
    expect(messagesOf(request, false)[0]).toBe(first[0]);
  });

  it('are evicted by the number of messages, not of conversations', () => {
    const request = conversation('early', 3);
    const [first] = messagesOf(request, false);
    for (let i = 0; i < 4; i++) messagesOf(conversation(`flood ${i}`, 19_000), false);
    expect(messagesOf(request, false)[0]).not.toBe(first);
  });
});
