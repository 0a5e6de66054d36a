import { describe, expect, it } from 'vitest';
import type { ConversationQuery, SeriesQuery } from '../../src/core/ports/browse.ts';
import { verifiedHistoryProject } from '../../src/core/segments/verified-history-project.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import { aTurn } from './ledger-store.suite.ts';
import { keep } from './recall.suite.ts';
import { aBatch, type Open } from './segments.suite.ts';

/** What listing conversations must do on any store. */
export function browseContract(name: string, open: Open): void {
  describe(`the list of conversations of ${name}`, () => {
    const filled = async (): Promise<StoreHandle> => {
      const store = await open({});
      await store.segments.note([
        aBatch([], {
          project: 'shop',
          conversationId: 'c1',
          atMs: 10,
          client: 'codex_cli',
          opening: 'Mend the 100% Cart',
        }),
        aBatch([], { project: verifiedHistoryProject('shop'), conversationId: 'c2', atMs: 20, client: 'claude-cli' }),
        aBatch([], { project: 'bank', conversationId: 'c3', atMs: 30 }),
      ]);
      await store.segments.note([aBatch([], { project: 'shop', conversationId: 'c1', atMs: 11 })]);
      await store.ledger.add(
        [
          aTurn('r1', { project: 'shop', conversationId: 'c1', wire: 'chat', model: 'gpt', removedNew: 50 }),
          aTurn('r2', { project: 'shop', conversationId: 'c1', wire: 'chat', model: 'gpt-mini', regretDollars: 0.1 }),
          aTurn('r3', { project: 'shop', conversationId: 'c2', dollars: 9, dollarsWithout: 9.5, atMs: 5 }),
          aTurn('r4', { project: 'other', conversationId: 'c1', dollars: 100, dollarsWithout: 200 }),
          aTurn('r5', { project: 'bank', conversationId: 'c3', dollars: null, dollarsWithout: null }),
        ],
        [],
      );
      return store;
    };
    const names = async (store: StoreHandle, over: Partial<ConversationQuery>): Promise<string[]> =>
      (await store.browse.conversations({ order: 'seen', offset: 0, limit: 9, ...over })).map((one) => one.name);

    it('lists each conversation with its client, first words and bill, only for its own project', async () => {
      const [c3, c2, c1] = await (await filled()).browse.conversations({ order: 'seen', offset: 0, limit: 9 });
      expect(c1).toMatchObject({ name: 'c1', client: 'codex_cli', opening: 'Mend the 100% Cart', turns: 2 });
      expect(c1?.bill).toEqual({
        ...{ requests: 2, model: 'gpt-mini', otherModels: 1, wire: 'chat', firstMs: 1_000, dollars: 1 },
        ...{ dollarsWithout: 1.5, regretDollars: 0.1, regretTokens: 0, biggestCut: 50 },
      });
      expect(c2).toMatchObject({
        project: verifiedHistoryProject('shop'),
        client: 'claude-cli',
        bill: { dollars: 9 },
      });
      expect(c3?.bill).toMatchObject({ dollars: null, dollarsWithout: null });
    });

    it('filters, sorts, pages, and searches without regard to case and with literal wildcards', async () => {
      const store = await filled();
      expect(await names(store, { projects: ['shop'] })).toEqual(['c2', 'c1']);
      expect(await names(store, { client: 'claude-cli' })).toEqual(['c2']);
      expect(await names(store, { model: 'gpt' })).toEqual(['c1']);
      expect(await names(store, { wire: 'messages' })).toEqual(['c3', 'c2']);
      expect(await names(store, { words: 'the 100% c' })).toEqual(['c1']);
      expect(await names(store, { words: '%' })).toEqual(['c1']);
      expect(await names(store, { words: 'OPUS' })).toEqual(['c3', 'c2']);
      expect(await names(store, { words: 'nowhere', named: ['c3'] })).toEqual(['c3']);
      expect(await names(store, { order: 'dollars' })).toEqual(['c2', 'c1', 'c3']);
      expect(await names(store, { order: 'cut' })).toEqual(['c1', 'c3', 'c2']);
      expect(await names(store, { order: 'requests', limit: 1 })).toEqual(['c1']);
      expect(await names(store, { order: 'saved', limit: 1, offset: 1, words: 'shop' })).toEqual(['c1']);
      expect(await store.browse.facets(['shop'])).toEqual({
        ...{ projects: ['shop'], clients: ['claude-cli', 'codex_cli'] },
        ...{ models: ['claude-opus-5', 'gpt', 'gpt-mini'], wires: ['chat', 'messages'] },
      });
      expect((await store.browse.facets()).projects).toEqual(['bank', 'shop']);
    });

    it('sums figures by day and project, model or tool', async () => {
      const store = await filled();
      const sum = { project: 'shop', slice: 'all', key: '', field: 'dollars', value: 1 } as const;
      await store.ledger.add(
        [],
        [
          { ...sum, day: '2026-11-19' },
          { ...sum, day: '2026-11-20' },
          { ...sum, day: '2026-11-20', project: 'bank', value: 4 },
          { ...sum, day: '2026-11-21', slice: 'model', key: 'gpt', value: 2 },
          { ...sum, day: '2026-11-21', slice: 'model', key: 'gpt', field: 'read', value: 5 },
          { ...sum, day: '2026-11-21', slice: 'model', key: 'gpt', project: 'bank', value: 3 },
        ],
      );
      const series = (over: Partial<SeriesQuery>) =>
        store.browse.series({ sinceDay: '2026-11-20', by: 'model', fields: ['dollars'], ...over });
      expect(await series({ by: 'project' })).toEqual([
        { day: '2026-11-20', key: 'bank', value: 4 },
        { day: '2026-11-20', key: 'shop', value: 1 },
      ]);
      expect(await series({})).toEqual([{ day: '2026-11-21', key: 'gpt', value: 5 }]);
      expect(await series({ fields: ['dollars', 'read'], projects: ['shop'] })).toMatchObject([{ value: 7 }]);
      expect(await series({ by: 'tool' })).toEqual([]);
    });

    it('reports compactions, the conversations that showed a text, and the cost of a request', async () => {
      const store = await filled();
      const about = { project: 'shop', client: 'codex', product: '', model: 'gpt', session: '', tokens: 900, atMs: 5 };
      await store.compactions.add({ ...about, continues: 'c1' });
      await store.compactions.follow({ project: 'shop', session: '', conversation: 'c2', atMs: 6 });
      const [compaction] = await store.browse.compactions(['c2'], ['shop']);
      expect(compaction).toMatchObject({ continues: 'c1', conversation: 'c2', client: 'codex', atMs: 5 });
      expect(await store.browse.compactions(['c2'], ['bank'])).toEqual([]);
      const id = await keep(store, 'a text with words', { project: 'shop', conversationId: 'c1' });
      expect(await store.browse.showing([id])).toEqual(new Map([[id, ['c1']]]));
      expect(await store.browse.showing([id], ['bank'])).toEqual(new Map());
      expect([...(await store.browse.asked([id])).keys()]).toEqual([id]);
      expect(await store.browse.asked([id], ['shop'])).toEqual(await store.browse.asked([id]));
      expect(await store.browse.asked([id], ['bank'])).toEqual(new Map());
      expect(await store.browse.costs(['r1', 'r5', 'unknown'])).toEqual(
        new Map([
          ['r1', { dollars: 0.5, cut: 50 }],
          ['r5', { dollars: null, cut: expect.any(Number) }],
        ]),
      );
      expect(await store.browse.costs(['r1'], ['bank'])).toEqual(new Map());
    });
  });
}
