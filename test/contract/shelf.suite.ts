import { describe, expect, it } from 'vitest';
import type { SeenDeclaration, SeenTools, ShelfConversation, ShelfCut, ShelfTool } from '../../src/core/ports/shelf.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import type { Open } from './segments.suite.ts';

const DAY_MS = 86_400_000;
const NOON = Date.parse('2026-05-01T12:00:00Z');

export function aDeclaration(name: string, over: Partial<SeenDeclaration> = {}): SeenDeclaration {
  return { name, hash: `hash of ${name}`, kind: 'plain', tokens: 100, saves: 60, ...over };
}

/** What keeping evidence of tools must do on any store. */
export function shelfContract(name: string, open: Open): void {
  describe(`${name} with the tool shelf`, () => {
    const see = (store: StoreHandle, conversation: string, over: Partial<SeenTools> = {}): Promise<ShelfConversation> =>
      store.shelf.record({
        project: 'p',
        client: 'codex',
        conversation,
        isFirst: true,
        declarations: [aDeclaration('fish')],
        calls: new Map(),
        shortened: new Set(),
        tokensSaved: 0,
        never: () => false,
        atMs: NOON,
        ...over,
      });
    const fishOf = async (store: StoreHandle, project = 'p'): Promise<ShelfTool | undefined> =>
      (await store.shelf.tools({ project })).find((tool) => tool.name === 'fish');

    it('counts each new conversation once, by its day in UTC', async () => {
      const store = await open({});
      await see(store, 'a');
      await see(store, 'a', { atMs: NOON + DAY_MS });
      await see(store, 'b', { atMs: NOON + 1 });
      await see(store, 'c', { isFirst: false, atMs: NOON + DAY_MS });
      expect(await fishOf(store)).toMatchObject({ conversations: 2, days: 1, calls: 0, lastCallMs: null });
      await see(store, 'd', { atMs: NOON + DAY_MS });
      expect(await fishOf(store)).toMatchObject({ conversations: 3, days: 2, client: 'codex', tokens: 100 });
      expect(await fishOf(store, 'q')).toBeUndefined();
    });

    it('counts a call once, whether an answer or a later request shows it', async () => {
      const store = await open({});
      await see(store, 'a', { calls: new Map([['fish', 1]]) });
      await see(store, 'a', { calls: new Map([['fish', 1]]), declarations: [], atMs: NOON + 5 });
      expect(await fishOf(store)).toMatchObject({ calls: 1, lastCallMs: NOON });
      await see(store, 'a', { calls: new Map([['fish', 3]]), declarations: [], atMs: NOON + 9 });
      expect(await fishOf(store)).toMatchObject({ calls: 3, lastCallMs: NOON + 9 });
    });

    it('matches a call without a namespace to its tool, but not to a name with the same ending', async () => {
      const store = await open({});
      const declarations = [aDeclaration('functions__fish'), aDeclaration('catfish')];
      await see(store, 'a', { declarations, calls: new Map([['fish', 2]]) });
      const calls = (await store.shelf.tools({ project: 'p' })).map((tool) => [tool.name, tool.calls]);
      expect(new Map(calls as [string, number][])).toEqual(
        new Map([
          ['functions__fish', 2],
          ['catfish', 0],
        ]),
      );
    });

    it('reports the possible saving of an unused tool from the sixth conversation on, over two days', async () => {
      const store = await open({});
      for (const [i, id] of ['a', 'b', 'c', 'd', 'e'].entries()) {
        expect((await see(store, id, { atMs: NOON + (i > 3 ? DAY_MS : 0) })).wouldSave).toBe(0);
      }
      const atMs = NOON + DAY_MS;
      expect((await see(store, 'never', { atMs, never: () => true })).wouldSave).toBe(0);
      expect((await see(store, 'other client', { atMs, client: 'claude-cli' })).wouldSave).toBe(0);
      const saves = await see(store, 'f', { atMs });
      expect(saves.wouldSave).toBe(60);
      await see(store, 'f', { atMs, calls: new Map([['fish', 1]]), declarations: [] });
      expect((await see(store, 'g', { atMs })).wouldSave).toBe(0);
      const charge = { project: 'p', day: '2026-05-02', ...saves, saved: { tokens: 10, usd: 0.01 }, rate: 0.001 };
      await store.shelf.charge(charge);
      await store.shelf.charge(charge);
      const { wouldSave, saved, called } = await store.shelf.totals({ sinceDay: '2026-05-02', project: 'p' });
      expect([wouldSave.tokens, saved.tokens, called]).toEqual([120, 20, 0]);
      expect(wouldSave.usd).toBeCloseTo(0.12);
      expect(saved.usd).toBeCloseTo(0.02);
      const none = { tokens: 0, usd: 0 };
      expect(await store.shelf.totals({ sinceDay: '2026-05-03' })).toEqual({ wouldSave: none, saved: none, called: 0 });
      expect((await fishOf(store))?.dollars).toBeCloseTo(0.2);
    });

    const seeUnused = async (store: StoreHandle, name: string, from = NOON): Promise<void> => {
      for (const i of [0, 1, 2, 3, 4])
        await see(store, `${name} ${i}`, { declarations: [aDeclaration(name)], atMs: from + (i > 3 ? DAY_MS : 0) });
    };
    const shelvedOn = (store: StoreHandle, atMs: number, over: object = {}): Promise<ReadonlySet<string>> =>
      store.shelf.updateShelf({ project: 'p', client: 'codex', never: () => false, atMs, ...over });

    it('puts unused tools on the shelf at most once a day, and removes a called tool at once', async () => {
      const store = await open({});
      await seeUnused(store, 'fish');
      const atMs = NOON + DAY_MS;
      expect(await shelvedOn(store, atMs, { never: () => true })).toEqual(new Set());
      expect(await shelvedOn(store, atMs)).toEqual(new Set(['hash of fish']));
      expect((await fishOf(store))?.shelved).toBe(true);
      await seeUnused(store, 'crab');
      expect(await shelvedOn(store, atMs + 1_000)).toEqual(new Set(['hash of fish']));
      expect(await shelvedOn(store, atMs, { client: 'other' })).toEqual(new Set());
      await see(store, 'crab 4', {
        declarations: [],
        calls: new Map([['fish', 2]]),
        shortened: new Set(['fish']),
        atMs,
      });
      expect(await shelvedOn(store, atMs + 2_000)).toEqual(new Set());
      expect((await store.shelf.totals({ sinceDay: '2026-05-02' })).called).toBe(2);
      expect((await fishOf(store))?.shelved).toBe(false);
      expect(await shelvedOn(store, atMs + DAY_MS)).toEqual(new Set(['hash of crab']));
    });

    it('records the shelf with which a conversation begins, and never changes it', async () => {
      const store = await open({});
      const cut: ShelfCut = {
        ...{ tool: 'fish', ofTool: true, textHash: 'x', chars: 3, startLine: 1, endLine: 2, reason: 'description' },
        ...{ pruneId: 'prn_1', tokensSaved: 5 },
      };
      const begin = (cuts: readonly ShelfCut[], decisionTtlMs: number, atMs = NOON) =>
        store.shelf.begin({ project: 'p', conversation: 'c', cuts, decisionTtlMs, atMs });
      const cutsIn = (project: string) => store.shelf.cutsOf({ project, conversation: 'c', atMs: NOON + 2 * DAY_MS });
      expect(await cutsIn('p')).toBeNull();
      expect(await begin([cut], 1_000)).toEqual([cut]);
      expect(await begin([], 1_000, NOON + 900)).toEqual([cut]);
      expect(await cutsIn('q')).toEqual([cut]);
      expect(await begin([], 1_000, NOON + 2 * DAY_MS + 500)).toEqual([cut]);
      expect(await begin([], 1_000, NOON + 3 * DAY_MS)).toEqual([]);
      expect(await cutsIn('p')).toEqual([]);
    });
  });
}
