import { describe, expect, it } from 'vitest';
import { Conversation } from '../../../src/wires/goal/conversation.ts';

describe('a conversation', () => {
  it('counts the recorded calls and results', () => {
    const conversation = new Conversation();
    expect(conversation.size).toBe(0);
    for (let i = 0; i < 3; i++) {
      conversation.assistantSaid('', [{ id: `call_${i}`, call: { name: 'shell', args: `${i}` } }]);
      conversation.isReread(`shell ${i % 2}`, { start: i, end: i + 1 }, () => `${i}`);
    }
    expect(conversation.size).toBe(6);
    expect(conversation.fork().size).toBe(6);
  });
});
