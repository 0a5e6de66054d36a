import { describe, expect, it } from 'vitest';
import { pruneIdOf } from '../../src/core/hash.ts';
import { prefixesOf } from '../../src/core/request/prefix-memo.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { aPrune } from '../contract/store.suite.ts';
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
  it('stays available while the text is sent again', async () => {
    expect(await afterThreeLifetimes(() => oneResult(TEXT))).toBe(TEXT);
  });

  it('stays available while a conversation contains a marker of it, whoever wrote it', async () => {
    const quoted = (forwarded: string): Message[] => [
      { role: 'user', content: 'What was cut?' },
      { role: 'assistant', content: `This: ${forwarded}` },
      { role: 'user', content: 'Go on.' },
    ];
    expect(await afterThreeLifetimes(quoted)).toBe(TEXT);
  });

  it.each([
    ['that is pruned', false],
    ['of which a pruned request was refused', true],
  ])('stays available with all other originals that have markers in a conversation %s', async (_name, isRefused) => {
    const clock = manualClock();
    const store = openStore(':memory:', clock);
    const decisions = Array.from({ length: 300 }, (_, i) =>
      aPrune(`${i}`, `text ${i}`, { pruneId: pruneIdOf(`${i}`) }),
    );
    await store.commit({ decisions, touch: [] }, 0);
    const ids = decisions.flatMap(({ decision }) => decision.pruneId ?? []);
    const markers = ids.map((id) => `⟦PRUNÉ: prune_id=${id} lignes 3-17 (15) raison=x⟧`).join('\n');
    const body = chatBody([{ role: 'user', content: `These were cut:\n${markers}` }]);
    const refused = new RefusedConversations(store);
    if (isRefused) await refused.add(prefixesOf(body, openaiChat.scan(body).messages).slice(-1));
    const rewriter = openRewriter({ store, clock, refused });
    for (let half = 0; half < 6; half++) {
      clock.now += TTL_MS / 2;
      while (await store.sweep());
      await rewriter.rewrite(body);
    }
    expect((await store.knownPruneIds(ids)).size).toBe(300);
  });

  it('expires after its lifetime without use', async () => {
    expect(await afterThreeLifetimes(() => null)).toBeNull();
    expect(await afterThreeLifetimes(() => [{ role: 'user', content: 'Something else.' }])).toBeNull();
  });
});
