import { describe, expect, it } from 'vitest';
import type { LedgerTurn } from '../../src/core/ports/ledger.ts';
import type { LedgerSum } from '../../src/core/ports/ledger-store.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import { aBatch, aSegment } from './segments.suite.ts';

/** A request of a conversation; what is not given is nothing. */
export function aTurn(requestId: string, over: Partial<LedgerTurn> = {}): LedgerTurn {
  return {
    requestId,
    atMs: 1_000,
    project: 'default',
    conversationId: 'c1',
    wire: 'messages',
    model: 'claude-opus-5',
    arm: 'pruned',
    estimated: false,
    fresh: 1,
    write5m: 2,
    write1h: 3,
    read: 4,
    output: 5,
    dollars: 0.5,
    dollarsWithout: 0.75,
    removed: 6,
    removedNew: 7,
    miss: null,
    missTokens: 0,
    missDollars: 0,
    missAt: -1,
    regretTokens: 0,
    regretDollars: 0,
    ...over,
  };
}

const sum = (over: Partial<LedgerSum>): LedgerSum => ({
  day: '2026-11-20',
  project: 'p',
  slice: 'all',
  key: '',
  field: 'requests',
  value: 1,
  ...over,
});

/** What the ledger of any store must do. */
export function ledgerContract(name: string, open: () => Promise<StoreHandle>): void {
  describe(`the ledger of ${name}`, () => {
    it('knows when a conversation was last sent with each head, and returns turns of one project', async () => {
      const { ledger } = await open();
      const head = { model: 'm', tools: 't', system: 's', summary: '', lifetimeMs: null, process: 'one' };
      expect(await ledger.lastSent('web', 'c1')).toEqual([]);
      await ledger.noteSent('web', 'c1', { ...head, atMs: 10.5 });
      await ledger.noteSent('web', 'c1', { ...head, tools: 'u', atMs: 20 });
      await ledger.noteSent('web', 'c1', { ...head, lifetimeMs: 5, process: 'two', atMs: 30 });
      await ledger.noteSent('api', 'c1', { ...head, atMs: 40 });
      expect(await ledger.lastSent('web', 'c1')).toEqual([
        { ...head, lifetimeMs: 5, process: 'two', atMs: 30 },
        { ...head, tools: 'u', atMs: 20 },
      ]);
      await ledger.add([aTurn('r1', { project: 'web' }), aTurn('r2', { project: 'api' })], []);
      expect(
        (await ledger.turns({ conversationId: 'c1', project: 'api', limit: 9 })).map((one) => one.requestId),
      ).toEqual(['r2']);
    });

    it('keeps the settings of projects as numbered rows, the newest of which applies', async () => {
      const { projectSettings: store } = await open();
      expect([await store.version(), await store.current()]).toEqual([0, []]);
      const row = (project: string, settings: string, atMs: number) => ({ project, settings, atMs, author: 'cli:é' });
      await store.set(row('web', '{"mode":"off"}', 1.5));
      await store.set(row('it\'s "é"', '{}', 2));
      const first = await store.version();
      await store.set(row('web', '{"mode":"shadow"}', 3));
      expect(await store.version()).toBeGreaterThan(first);
      expect((await store.current()).map(({ project, settings }) => [project, settings])).toEqual([
        ['it\'s "é"', '{}'],
        ['web', '{"mode":"shadow"}'],
      ]);
      expect(await store.history('web', 9)).toMatchObject([
        row('web', '{"mode":"shadow"}', 3),
        row('web', '{"mode":"off"}', 1),
      ]);
      expect(await store.history('web', 1)).toHaveLength(1);
    });

    it('reports changes of project settings by this process at once, until the listener is removed', async () => {
      const { projectSettings: store } = await open();
      let calls = 0;
      const forget = store.onChanged(() => calls++);
      await store.set({ project: 'web', settings: '{}', atMs: 1, author: 'cli:me' });
      const heard = calls;
      expect(heard).toBeGreaterThan(0);
      forget();
      await store.set({ project: 'web', settings: '{"mode":"off"}', atMs: 2, author: 'cli:me' });
      expect(calls).toBe(heard);
    });

    it('adds up the cost of the named requests', async () => {
      const { ledger } = await open();
      const unpriced = { dollars: null, dollarsWithout: null };
      await ledger.add(
        [aTurn('r1'), aTurn('r2', { dollars: 1, dollarsWithout: 1, regretDollars: 0.25 }), aTurn('r3', unpriced)],
        [],
      );
      const cost = { requests: 2, unpriced: 0, dollars: 1.5, dollarsWithout: 1.5 };
      expect(await ledger.costOf(['r1', 'r2', 'r9'])).toEqual(cost);
      expect(await ledger.costOf(['r3'])).toEqual({ requests: 1, unpriced: 1, dollars: 0, dollarsWithout: 0 });
      expect(await ledger.costOf([])).toMatchObject({ requests: 0 });
    });

    it('sums dollars by day for keys and projects', async () => {
      const { ledger } = await open();
      await ledger.add(
        [],
        [
          sum({ field: 'dollars', value: 2 }),
          sum({ field: 'dollars', value: 3, project: 'q' }),
          sum({ field: 'dollars', value: 1, slice: 'key', key: 'key_1' }),
          sum({ field: 'dollars', value: 4, slice: 'key', key: 'key_1', project: 'q' }),
          sum({ field: 'dollars', value: 9, slice: 'model', key: 'm' }),
          sum({ field: 'dollars', value: 7, day: '2026-11-19' }),
        ],
      );
      expect(await ledger.processes({ lineage: 'process', aliveFromMs: 0 })).toBe(0);
      const spent = await ledger.spent({ sinceDay: '2026-11-20' });
      expect(spent.toSorted((a, b) => a.dollars - b.dollars)).toEqual([
        { day: '2026-11-20', of: 'project', name: 'p', dollars: 2 },
        { day: '2026-11-20', of: 'project', name: 'q', dollars: 3 },
        { day: '2026-11-20', of: 'key', name: 'key_1', dollars: 5 },
      ]);
    });

    it('returns requests unchanged, in order and page by page', async () => {
      const { ledger } = await open();
      const turns = [
        aTurn('r1', { miss: 'expired', missTokens: 9, missDollars: 0.01, missAt: 3, estimated: true, arm: 'control' }),
        aTurn('r2', { dollars: null, dollarsWithout: null, missDollars: null, regretDollars: null }),
        aTurn('r3', { conversationId: 'c2\0\x01', project: 'ü\0', model: 'm', keyId: 'user:é' }),
      ];
      await ledger.add(turns, []);
      await ledger.add([aTurn('r1', { fresh: 99 })], []); // told twice
      expect(await ledger.turns({ conversationId: 'c1', limit: 9 })).toEqual(turns.slice(0, 2));
      expect(await ledger.turns({ conversationId: 'c1', after: 'r1', limit: 9 })).toEqual(turns.slice(1, 2));
      expect(await ledger.turns({ conversationId: 'c1', limit: 1 })).toEqual(turns.slice(0, 1));
      expect(await ledger.turns({ conversationId: 'c2\0\x01', limit: 9 })).toEqual(turns.slice(2));
      expect(await ledger.turns({ conversationId: 'other', limit: 9 })).toEqual([]);
    });

    it('sums figures by day, project and part', async () => {
      const { ledger } = await open();
      await ledger.add([], [sum({}), sum({}), sum({ day: '2026-11-21', value: 5 })]);
      await ledger.add([], [sum({ value: 0.25 }), sum({ project: 'q\0', slice: 'model', key: 'm\0' })]);
      expect(await ledger.sums({ sinceDay: '2026-11-20' })).toEqual([
        sum({ day: '2026-11-21', value: 5 }),
        sum({ value: 2.25 }),
        sum({ project: 'q\0', slice: 'model', key: 'm\0' }),
      ]);
      expect(await ledger.sums({ sinceDay: '2026-11-21' })).toHaveLength(1);
      expect(await ledger.sums({ sinceDay: '2026-11-20', project: 'q\0' })).toHaveLength(1);
      expect(await ledger.sums({ sinceDay: '2026-11-20', slice: 'model' })).toHaveLength(1);
    });

    it('limits the figures of a day, but keeps every figure of the totals', async () => {
      const { ledger } = await open();
      const figures = (project: string): LedgerSum[] => [
        sum({ project }),
        sum({ project, field: 'dollars', value: 0.5 }),
        ...Array.from({ length: 38 }, (_, i) => sum({ project, slice: 'tool', key: `${project} tool ${i}` })),
        sum({ project, slice: 'miss', key: 'expired' }),
        sum({ project, slice: 'model', key: i(project) % 2 === 0 ? 'even' : 'odd' }),
      ];
      const i = (project: string): number => Number(project.slice(1));
      const projects = Array.from({ length: 480 }, (_, at) => `p${at}`);
      let folded = 0;
      for (let at = 0; at < projects.length; at += 100) {
        folded += await ledger.add([], projects.slice(at, at + 100).flatMap(figures));
      }
      // a project that is there goes on to be counted under its name
      await ledger.add([], figures('p0'));
      const kept = await ledger.sums({ sinceDay: '2026-11-20' });
      expect(kept.length).toBeLessThanOrEqual(20_000);
      const totals = await ledger.totals({ sinceDay: '2026-11-20' });
      const sumOf = (wanted: Partial<LedgerSum>): number =>
        totals
          .filter((one) => Object.entries(wanted).every(([name, value]) => one[name as keyof LedgerSum] === value))
          .reduce((all, { value }) => all + value, 0);
      expect(sumOf({ day: '2026-11-20', slice: 'all', field: 'requests' })).toBe(481);
      expect(sumOf({ day: '', slice: 'all', field: 'requests' })).toBe(481);
      expect(sumOf({ slice: 'all', field: 'dollars', day: '' })).toBe(240.5);
      expect(sumOf({ slice: 'model', key: 'even' })).toBe(241);
      expect(sumOf({ slice: 'model', key: 'odd' })).toBe(240);
      expect(sumOf({ slice: 'miss' })).toBe(481);
      expect(sumOf({ slice: 'tool' })).toBe(38 * 481);
      expect(sumOf({ project: 'p0', slice: 'all', field: 'requests' })).toBe(2);
      const others = sumOf({ project: '(others)', slice: 'all', field: 'requests' });
      expect(others).toBeGreaterThan(50);
      expect(folded).toBeGreaterThan(others);
      expect((await ledger.totals({ sinceDay: '2026-11-20', project: '(others)' })).length).toBeGreaterThan(0);
    });

    it('lists conversations with their totals, newest first', async () => {
      const { ledger, compactions } = await open();
      const work = { userMessages: 1, calls: 3, recoveries: 5 };
      const summary = { client: 'codex', product: '', model: 'm', session: '', tokens: 9, atMs: 4_000 };
      await compactions.add({ project: 'q', continues: 'c2', ...summary });
      await compactions.follow({ project: 'q', session: '', conversation: 'c3', atMs: 4_500 });
      await compactions.add({ project: 'q', continues: 'c2', ...summary, atMs: 4_900 }); // nothing went on from it
      await compactions.add({ project: 'other', continues: 'c2', ...summary });
      const late = { conversationId: 'c2', project: 'q', atMs: 5_000, arm: 'control' as const, work };
      await ledger.add([aTurn('r1'), aTurn('r2', { atMs: 2_000, dollars: null }), aTurn('r3', late)], []);
      expect(await ledger.conversations({ sinceMs: 0, limit: 9 })).toEqual([
        {
          conversationId: 'c2',
          project: 'q',
          arm: 'control',
          turns: 1,
          firstMs: 5_000,
          lastMs: 5_000,
          dollars: 0.5,
          dollarsWithout: 0.75,
          output: 5,
          regretTokens: 0,
          firstRequestTokens: 16,
          ...work,
          compactions: 1,
        },
        expect.objectContaining({
          conversationId: 'c1',
          turns: 2,
          dollars: 0.5,
          dollarsWithout: 1.5,
          output: 10,
        }),
      ]);
      expect(await ledger.turns({ conversationId: 'c2', limit: 1 })).toEqual([aTurn('r3', late)]);
      expect(await ledger.conversations({ sinceMs: 2_001, limit: 9 })).toHaveLength(1);
      expect(await ledger.conversations({ sinceMs: 0, project: 'q', limit: 9 })).toHaveLength(1);
      expect(await ledger.conversations({ sinceMs: 0, limit: 1 })).toHaveLength(1);
    });

    it('assigns a conversation to the control group if one of its requests belongs to it', async () => {
      const { ledger } = await open();
      await ledger.add([aTurn('r1'), aTurn('r2', { arm: 'control' }), aTurn('r3')], []);
      expect((await ledger.conversations({ sinceMs: 0, limit: 9 })).map(({ arm }) => arm)).toEqual(['control']);
    });

    it('finds where a text was cut, with the newest request of that conversation and project', async () => {
      const { ledger, segments } = await open();
      const cut = aBatch([aSegment('s', { pruneIds: ['p1'] })], { project: 'shop\nbound', conversationId: 'c1' });
      await segments.note([cut, aBatch([aSegment('t', { pruneIds: ['p2'] })], { project: 'q', conversationId: 'c2' })]);
      const turns = [aTurn('r1', { project: 'shop' }), aTurn('r2', { project: 'shop' }), aTurn('r3')];
      await ledger.add(turns, []);
      expect(await ledger.cutIn('p1')).toEqual({ project: 'shop', conversationId: 'c1', newest: turns[1] });
      expect(await ledger.cutIn('p2')).toEqual({ project: 'q', conversationId: 'c2', newest: null });
      expect(await ledger.cutIn('p3')).toBeNull();
    });

    it('adds regret to the newest request of the conversation, and to no other', async () => {
      const { ledger } = await open();
      await ledger.add([aTurn('r1'), aTurn('r2'), aTurn('r3', { project: 'shop' })], []);
      const [first] = await ledger.turns({ conversationId: 'c1', limit: 1 });
      const place = { project: first?.project ?? '', conversationId: 'c1' };
      for (const tokens of [40, 2]) await ledger.addRegret(place, { tokens, dollars: tokens / 100 });
      await ledger.addRegret({ ...place, conversationId: 'none' }, { tokens: 7, dollars: 7 });
      const turns = await ledger.turns({ conversationId: 'c1', limit: 9 });
      const before = aTurn('r1');
      expect(turns.map(({ regretTokens }) => regretTokens - before.regretTokens)).toEqual([0, 42, 0]);
      expect((turns[1]?.regretDollars ?? 0) - (before.regretDollars ?? 0)).toBeCloseTo(0.42, 9);
    });
  });
}
