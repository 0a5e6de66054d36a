import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Recording } from '../recordings/conversation.ts';
import type { SentTexts } from './sent-texts.ts';

const CACHED = 0.1;

/** What the messages alone cost, in estimated tokens, with a cache that fails only where something in it is changed. */
export function messagesBill({ messages }: Recording, sent: SentTexts): number {
  const texts: string[] = [];
  const tokens: number[] = [];
  let billed = 0;
  let previous = -1;
  for (const [at, { role }] of messages.entries()) {
    if (role !== 'assistant') continue;
    const cached = Math.min(Math.max(0, previous), sent.firstChange(previous, at));
    for (let i = sent.firstChange(previous, at) < at ? 0 : texts.length; i < at; i++) {
      const text = sent.textAt(i, at);
      if (text === texts[i]) continue;
      texts[i] = text;
      tokens[i] = estimateTokens(text);
    }
    for (const [i, count] of tokens.entries()) billed += i < cached ? CACHED * count : count;
    previous = at;
  }
  return billed;
}
