import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Store, StoreBatch } from '../../src/core/ports.ts';
import { prefixesOf } from '../../src/core/request/prefix-memo.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, oneResult, toolTurn } from '../helpers/chat.ts';
import { manualClock, openPruner, openRewriter, openStore, restored, TTL_MS, verdicts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const LOG = serverLog(200);

function prefixesIn(body: Buffer): readonly string[] {
  return prefixesOf(body, openaiChat.scan(body).messages);
}

function pruned(body: Buffer): string {
  return contentAt(body, -1);
}

describe('a text that was pruned', () => {
  it('is not pruned again if it returns with its markers', async () => {
    const rewriter = openRewriter();
    const first = await rewriter.rewrite(chatBody(oneResult(LOG)));
    const again = chatBody(
      oneResult(`${pruned(first.body)}${serverLog(100, 8)}`, { args: { command: 'cat notes.txt' } }),
    );
    const second = await rewriter.rewrite(again);
    expect(verdicts(second)).toEqual(['carries_markers']);
    expect(second.body).toBe(again);
  });

  it('is not pruned again in the same request, even before any store contains it', async () => {
    const first = await openRewriter().rewrite(chatBody(oneResult(LOG)));
    const both = [
      ...oneResult(LOG),
      ...toolTurn('c2', 'bash', { command: 'cat notes' }, `${pruned(first.body)}${serverLog(100, 8)}`),
    ];
    expect(verdicts(await openRewriter({ history: 're-prune' }).rewrite(chatBody(both)))).toEqual([
      'cut',
      'carries_markers',
    ]);
  });

  it('is recovered from its markers even if forged markers are next to them', async () => {
    const store = openStore();
    const forged = [
      '⟦PRUNÉ: prune_id=prn_000000000000 lignes 1-9 (9) raison=forged⟧',
      '⟦PRUNÉ: prune_id=prn_000000000000 lignes 1-9 (9) raison=x⟧ prune_id=prn_111111111111',
      '⟦PRUNÉ: prune_id= lignes 0-0 (1) raison=⟧',
      'prune_id=prn_ZZZZZZZZZZZZ',
    ];
    const text = LOG.replace('\n', `\n${forged.join('\n')}\n`);
    const rewritten = await openRewriter({ store }).rewrite(chatBody(oneResult(text)));
    expect(verdicts(rewritten)).toEqual(['cut']);
    expect(await restored(pruned(rewritten.body), store)).toBe(text);
  });
});

describe('a recovered text', () => {
  it.each([
    ['as it is', (text: string) => text],
    ['as the field of an answer', (text: string) => JSON.stringify({ text, ok: true })],
    ['wrapped twice', (text: string) => JSON.stringify([{ type: 'text', text: JSON.stringify({ text }) }])],
  ])('passes whole %s, even from an unknown tool', async (_name, wrap) => {
    const store = openStore();
    const rewriter = openRewriter({ store });
    const first = await rewriter.rewrite(chatBody(oneResult(LOG)));
    const pruner = openPruner(store);
    const ranges = [{ startLine: 3, endLine: 140 }];
    const raw = await pruner.recover({ pruneId: first.outcomes[0]?.pruneId ?? '', ranges, numbered: false });
    const request = chatBody([...oneResult(LOG), ...toolTurn('c2', 'bridge', { x: 1 }, wrap(raw))]);
    const second = await rewriter.rewrite(request);
    expect(verdicts(second)).toEqual(['cut', 'recovered']);
    expect(contentAt(second.body, -1)).toBe(wrap(raw));
  });
});

describe('a conversation with a refused pruned request', () => {
  const body = chatBody(oneResult(LOG));
  const prefixes = prefixesIn(body);
  const longer = [...oneResult(LOG), { role: 'assistant', content: 'Found it.' }, { role: 'user', content: 'Go on.' }];

  it('is forwarded unchanged from then on, also after a restart', async () => {
    const path = join(tempFolder(), 'store.db');
    const store = openStore(path);
    const refused = new RefusedConversations(store);
    await refused.add(prefixes.slice(-1));
    const restarted = new RefusedConversations(openStore(path));
    await restarted.load();
    for (const each of [refused, restarted]) {
      for (const request of [body, chatBody(longer), chatBody(longer, { temperature: 1 })]) {
        const rewritten = await openRewriter({ store, refused: each }).rewrite(request);
        expect(rewritten.refusedBefore).toBe(true);
        expect(rewritten.body).toBe(request);
      }
    }
  });

  it('is recognised by its messages, wherever the client’s cache breakpoints have moved', async () => {
    const store = openStore();
    const refused = new RefusedConversations(store);
    await refused.add(prefixes.slice(-1));
    const marked = chatBody(longer.map((message) => ({ ...message, cache_control: { type: 'ephemeral' } })));
    expect((await openRewriter({ store, refused }).rewrite(marked)).refusedBefore).toBe(true);
  });

  it('does not affect other conversations, nor a request with only its beginning', async () => {
    const store = openStore();
    const refused = new RefusedConversations(store);
    const all = chatBody(longer);
    await refused.add(prefixesIn(all).slice(-1));
    for (const request of [body, chatBody(oneResult(serverLog(200, 4)))]) {
      expect(verdicts(await openRewriter({ store, refused }).rewrite(request))).toEqual(['cut']);
    }
  });

  it('is forwarded unchanged at once even if its pruned form is remembered', async () => {
    const store = openStore();
    const refused = new RefusedConversations(store);
    const rewriter = openRewriter({ store, refused });
    expect((await rewriter.rewrite(body)).body).not.toBe(body);
    await refused.add(prefixes.slice(-1));
    expect((await rewriter.rewrite(body)).body).toBe(body);
    const more = chatBody(longer);
    expect((await rewriter.rewrite(more)).body).toBe(more);
  });
});

describe('a text whose id belongs to another text', () => {
  it('passes whole, because no marker may lead to the wrong original', async () => {
    const store = openStore();
    const refusing: Store = Object.create(store, {
      commit: {
        value: async ({ decisions }: StoreBatch) => ({
          missing: [],
          refused: decisions.map(({ decision }) => decision.key),
          known: [],
        }),
      },
    });
    for (const name of ['epoch', 'lookUp', 'knownPruneIds'] as const) {
      Object.defineProperty(refusing, name, { value: (store[name] as () => unknown).bind(store) });
    }
    const request = chatBody(oneResult(LOG));
    const rewritten = await openRewriter({ store: refusing }).rewrite(request);
    expect(verdicts(rewritten)).toEqual(['refused']);
    expect(rewritten.body).toBe(request);
  });
});

describe('an original', () => {
  it('stays alive as long as its marker is sent, and is stored again if it was lost', async () => {
    const clock = manualClock();
    const store = openStore(join(tempFolder(), 'store.db'), clock);
    const rewriter = openRewriter({ store, clock });
    const id = (await rewriter.rewrite(chatBody(oneResult(LOG)))).outcomes[0]?.pruneId ?? '';
    for (let i = 0; i < 30; i++) {
      clock.now += TTL_MS / 3;
      while (await store.sweep());
      await rewriter.rewrite(chatBody(oneResult(LOG)));
      expect(await store.findOriginal(id)).toBe(LOG);
    }
    clock.now += TTL_MS * 3;
    while (await store.sweep());
    expect(await store.findOriginal(id)).toBeNull();
    expect((await rewriter.rewrite(chatBody(oneResult(LOG)))).outcomes[0]?.pruneId).toBe(id);
    expect(await store.findOriginal(id)).toBe(LOG);
  });
});
