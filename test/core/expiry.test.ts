import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, type Message, oneResult } from '../helpers/chat.ts';
import { manualClock, openRewriter, openStore, TTL_MS } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const TEXT = serverLog(200);

/** A pruned conversation, and what is in the store after requests that come half a lifetime apart. */
async function afterThreeLifetimes(request: (forwarded: string) => Message[] | null): Promise<string | null> {
  const clock = manualClock();
  const store = openStore(':memory:', clock);
  const rewriter = openRewriter({ store, clock });
  const first = await rewriter.rewrite(chatBody(oneResult(TEXT)));
  const pruneId = first.outcomes[0]?.pruneId ?? '';
  expect(await store.findOriginal(pruneId)).toBe(TEXT);
  const messages = request(contentAt(first.body, -1));
  for (let half = 0; half < 6; half++) {
    clock.now += TTL_MS / 2;
    while (await store.sweep());
    if (messages) await rewriter.rewrite(chatBody(messages));
  }
  return store.findOriginal(pruneId);
}

describe('an original', () => {
  it('lives on while the text is sent again', async () => {
    expect(await afterThreeLifetimes(() => oneResult(TEXT))).toBe(TEXT);
  });

  it('lives on while a marker of it stands in a conversation, whoever wrote it there', async () => {
    const quoted = (forwarded: string): Message[] => [
      { role: 'user', content: 'What was cut?' },
      { role: 'assistant', content: `This: ${forwarded}` },
      { role: 'user', content: 'Go on.' },
    ];
    expect(await afterThreeLifetimes(quoted)).toBe(TEXT);
  });

  it('goes once nobody has asked for it or shown it for its lifetime', async () => {
    expect(await afterThreeLifetimes(() => null)).toBeNull();
    expect(await afterThreeLifetimes(() => [{ role: 'user', content: 'Something else.' }])).toBeNull();
  });
});
