import { describe, expect, it } from 'vitest';
import type { AccessKey, CounterIncrement } from '../../src/core/ports/keys.ts';
import type { EventRecord } from '../../src/core/ports.ts';
import { aBatch, aSegment, type Open } from './segments.suite.ts';
import { aPrune, pruneIdOf } from './store.suite.ts';

export function aKey(name: string, over: Partial<AccessKey> = {}): AccessKey {
  return {
    id: `key_${name.padEnd(12, '0')}`,
    hash: name.padEnd(64, '0'),
    name,
    projects: ['web', 'it\'s "é"'],
    requestsPerMinute: null,
    tokensPerDay: 1_000,
    dollarsPerMonth: null,
    createdMs: 5,
    expiresMs: null,
    revokedMs: null,
    lastUsedMs: null,
    ...over,
  };
}

const event = (project: string | undefined, runId: string): EventRecord => ({
  tsMs: 1,
  kind: 'k',
  level: 'info',
  runId,
  opId: null,
  payload: {},
  ...(project !== undefined && { project }),
});
const minute = (at: number, limit: number): CounterIncrement => ({ span: 'minute', at, add: 1, limit });

/** What any store must do for keys, and for what belongs to projects. */
export function keysContract(name: string, open: Open): void {
  describe(`the keys of ${name}`, () => {
    it('are stored, revoked and rotated, and other processes see each change', async () => {
      const store = await open({});
      const other = await (await open({ beside: store })).keys();
      const keys = await store.keys();
      const before = await other.generation();
      expect(await keys.create([aKey('a')])).toBe(true);
      expect(await keys.create([aKey('b', { expiresMs: 2e12, requestsPerMinute: 3 })])).toBe(true);
      expect(await other.all()).toEqual([aKey('a'), aKey('b', { expiresMs: 2e12, requestsPerMinute: 3 })]);
      expect(await other.rotate(aKey('a').id, 'c'.repeat(64))).toBe(true);
      expect(await keys.revoke(aKey('b').id, 7)).toBe(true);
      expect([
        await keys.revoke(aKey('b').id, 8),
        await keys.rotate(aKey('b').id, 'd'),
        await keys.revoke('no', 1),
      ]).toEqual([false, false, false]);
      expect((await keys.all()).map(({ hash, revokedMs }) => [hash[0], revokedMs])).toEqual([
        ['c', null],
        ['b', 7],
      ]);
      expect(await other.generation()).toBeGreaterThan(before);
    });

    it('are read again in pages if they changed, and otherwise not at all', async () => {
      const store = await open({});
      const keys = await store.keys();
      const other = await (await open({ beside: store })).keys();
      const names = ['a', 'b', 'c', 'd', 'e'];
      await keys.create(names.map((name) => aKey(name)));
      const all = await other.changed({ number: -1, id: '' }, 3);
      const [last] = all.slice(-1);
      if (!last) throw new Error('no key was read');
      const rest = await other.changed({ number: last.number, id: last.id }, 3);
      expect([...all, ...rest].map(({ name }) => name).sort()).toEqual(names);
      const known = { number: await other.generation(), id: '~' };
      expect(await other.changed(known, 3)).toEqual([]);
      await Promise.all([
        keys.revoke(aKey('d').id, 7),
        other.rotate(aKey('a').id, 'f'.repeat(64)),
        keys.change(aKey('c').id, { name: 'c2' }),
      ]);
      await keys.touch(new Map([[aKey('b').id, 9]]));
      const changed = await other.changed(known, 9);
      expect(changed.map(({ name, revokedMs, hash }) => [name, revokedMs, hash[0]]).sort()).toEqual([
        ['a', null, 'f'],
        ['c2', null, 'c'],
        ['d', 7, 'd'],
      ]);
      expect(await other.generation()).toBeGreaterThanOrEqual(Math.max(...changed.map(({ number }) => number)));
    });

    it('are issued together, read in pages, changed, and marked as used without a new generation', async () => {
      const keys = await (await open({})).keys();
      const all = Array.from({ length: 25 }, (_, i) =>
        aKey(`k${String(i).padStart(2, '0')}`, { createdMs: 5 + (i >> 3) }),
      );
      expect(await keys.create(all)).toBe(true);
      await expect(keys.create([aKey('new'), aKey('k03')])).rejects.toThrow(); // all or none
      const read: string[] = [];
      for (let page = await keys.list({ limit: 10 }); page.length > 0; ) {
        read.push(...page.map(({ id }) => id));
        page = await keys.list({ after: page.at(-1)?.id, limit: 10 });
      }
      expect(read).toEqual(all.map(({ id }) => id));
      const { id } = aKey('k01');
      const change = { name: 'it\'s "b"', projects: ['x'], dollarsPerMonth: 12.5, tokensPerDay: null, expiresMs: 9e12 };
      expect(await keys.change(id, change)).toEqual(aKey('k01', change));
      expect(await keys.change('key_unknown', change)).toBeNull();
      expect(await keys.change(id, {})).toMatchObject(change);
      const before = await keys.generation();
      await keys.touch(
        new Map([
          [id, 70],
          ['key_unknown', 70],
        ]),
      );
      await keys.touch(new Map([[id, 60]]));
      expect(await keys.generation()).toBe(before);
      expect((await keys.all()).find((key) => key.id === id)?.lastUsedMs).toBe(70);
      await keys.count(id, [minute(3, 10)]);
      expect(await keys.counted()).toEqual([{ keyId: id, span: 'minute', at: 3, used: 1 }]);
      await keys.revoke(id, 1);
      expect(await keys.change(id, { name: 'again' })).toBeNull();
    });

    it('count the requests that all processes admit, by time span, never beyond the limit', async () => {
      const store = await open({});
      const [one, two] = [await store.keys(), await (await open({ beside: store })).keys()];
      await one.create([aKey('a')]);
      const { id } = aKey('a');
      const taken = await Promise.all(
        Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? one : two).count(id, [minute(1, 10)])),
      );
      expect(taken.filter((spans) => spans.has('minute'))).toHaveLength(10);
      const day = { span: 'day', at: 1, add: 90, limit: 100 } as const;
      expect([...(await two.count(id, [minute(2, 10), day]))].sort()).toEqual(['day', 'minute']);
      await one.correct(id, { ...day, add: -50 });
      expect((await one.count(id, [day])).size).toBe(1);
      expect((await two.count(id, [day])).size).toBe(0);
      // a clock that is behind opens no span anew
      expect((await one.count(id, [minute(1, 1)])).size).toBe(0);
    });
  });

  describe(`the projects of ${name}`, () => {
    it('own the originals of the texts that they sent, jointly if they sent the same', async () => {
      const store = await open({});
      const projects = await store.projects();
      const [a, b] = [aPrune('a', 'text a'), aPrune('b', 'text b')];
      await store.commit({ decisions: [a, b], touch: [], owner: 'web' }, 1_000);
      await store.commit({ decisions: [b, aPrune('b', 'forged')], touch: [pruneIdOf('a')], owner: 'api' }, 1_000);
      const ids = [pruneIdOf('a'), pruneIdOf('b'), pruneIdOf('unknown')];
      const owned = async (...of: string[]) => [...(await projects.owned(of, ids))].sort();
      expect(await owned('web')).toEqual(ids.slice(0, 2).sort());
      expect(await owned('api')).toEqual([pruneIdOf('b')]);
      expect(await owned('none')).toEqual([]);
      await projects.claim('none', ids);
      expect(await owned('none')).toEqual(ids.slice(0, 2).sort());
      expect((await projects.prunesByAge(['api'], { limit: 9 })).map(({ pruneId }) => pruneId)).toEqual([
        pruneIdOf('b'),
      ]);
      expect((await projects.prunes(['api'], { prefix: '', limit: 9 })).map(({ pruneId }) => pruneId)).toEqual([
        pruneIdOf('b'),
      ]);
      expect(await projects.sizes(['api'])).toMatchObject({ prunes: 1, snapshots: 1, bytes: 6 });
      expect(await projects.sizes([])).toMatchObject({ prunes: 0, bytes: 0, oldestMs: null });
    });

    it('erase originals that only they own, and release shared ones', async () => {
      const store = await open({});
      const projects = await store.projects();
      const decisions = ['mine', 'both', 'theirs'].map((one) => aPrune(one, one));
      const [mine, both, theirs] = decisions.map(({ decision }) => decision.pruneId ?? '');
      await store.commit({ decisions: decisions.slice(0, 2), touch: [], owner: 'p' }, 1_000);
      await store.commit({ decisions: decisions.slice(1), touch: [], owner: 'q' }, 1_000);
      await store.segments.note([aBatch([aSegment('s', { pruneIds: [mine ?? '', both ?? '', theirs ?? ''] })])]);
      const set = [{ segment: 's', action: 'delete' as const, scope: '', upTo: -1 }];
      await store.segments.change({ project: 'p', set, clear: [] });
      expect(await store.findOriginal(mine ?? '')).toBeNull();
      expect(await store.findOriginal(both ?? '')).toBe('both');
      expect(await store.findOriginal(theirs ?? '')).toBe('theirs');
      expect([...(await projects.owned(['p'], [mine ?? '', both ?? '', theirs ?? '']))]).toEqual([]);
      expect((await projects.owned(['q'], [both ?? '', theirs ?? ''])).size).toBe(2);
    });

    it('adopt unowned originals once, by the conversations that showed them', async () => {
      const store = await open({});
      const projects = await store.projects();
      await store.commit({ decisions: [aPrune('a', 'a')], touch: [], conversation: 'c1' }, 1_000);
      await store.commit({ decisions: [aPrune('b', 'b')], touch: [], conversation: 'c2' }, 1_000);
      await store.commit({ decisions: [aPrune('call', 'call')], touch: [] }, 1_000);
      await store.commit({ decisions: [aPrune('has', 'has')], touch: [], owner: 'own' }, 1_000);
      await store.segments.note([aBatch([], { conversationId: 'c1', project: 'web' })]);
      await store.segments.note([aBatch([aSegment('s', { pruneIds: [pruneIdOf('a')] })], { project: 'api\nbound' })]);
      await projects.adopt();
      const all = ['a', 'b', 'call', 'has'].map(pruneIdOf);
      const of = async (project: string) => [...(await projects.owned([project], all))];
      expect(await of('web')).toEqual([pruneIdOf('a')]);
      expect(await of('api')).toEqual([pruneIdOf('a')]);
      expect(await of('default')).toEqual([pruneIdOf('call')]);
      // whoever names it later has no part in it
      await store.segments.note([
        aBatch([aSegment('s2', { pruneIds: [pruneIdOf('b')] })], { project: 'thief', conversationId: 'c2' }),
      ]);
      await projects.adopt();
      expect(await of('thief')).toEqual([]);
    });

    it('have their own events', async () => {
      const store = await open({});
      const projects = await store.projects();
      await store.addEvents([event('web', 'r'), event('api', 'r'), event(undefined, 'r'), event('web', 's')]);
      const seqs = async (...args: Parameters<typeof projects.events>) =>
        (await projects.events(...args)).map(({ seq }) => seq);
      expect(await seqs(['web'], { fromSeq: 0, limit: 9 })).toEqual([1, 4]);
      expect(await seqs(['web', 'api'], { fromSeq: 2, limit: 9 })).toEqual([2, 4]);
      expect(await seqs(['web'], { runId: 'r', fromSeq: 0, limit: 9 })).toEqual([1]);
      expect(await seqs([], { fromSeq: 0, limit: 9 })).toEqual([]);
      expect([
        await projects.lastSeq(['api']),
        await projects.lastSeq(['web'], 'r'),
        await projects.lastSeq(['x']),
      ]).toEqual([2, 1, 0]);
      expect(await projects.runs(['web'], { prefix: '', limit: 9 })).toEqual([
        { runId: 's', firstSeq: 4, lastSeq: 4, lastMs: 1 },
        { runId: 'r', firstSeq: 1, lastSeq: 1, lastMs: 1 },
      ]);
    });
  });
}
