import { describe, expect, it } from 'vitest';
import type { EventRecord } from '../../src/core/ports.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import { aPrune, manualClock, pruneIdOf, type StoreSetup } from './store.suite.ts';

const TTL_MS = 80_000;

/** Opens an empty store that is closed with the test. */
export type Open = (over: Partial<Pick<StoreSetup, 'clock' | 'maxEvents'>>) => Promise<StoreHandle>;

const event = (runId: string, tsMs: number): EventRecord => ({
  tsMs,
  kind: 'request',
  level: 'info',
  runId,
  opId: null,
  payload: {},
});
const entry = (childId: string, message: string) =>
  ({ tsMs: 1, childId, runId: null, stream: 'stderr', message, parsed: null }) as const;

async function sweepAll(store: StoreHandle): Promise<void> {
  while (await store.sweep());
}

/** What the records of any store must do. */
export function recordsContract(name: string, open: Open): void {
  describe(`the records of ${name}`, () => {
    it('list runs and agents, the last active first, by prefix and limit', async () => {
      const store = await open({});
      const { records } = store;
      await store.addEvents([event('a', 1), event('b', 2), event('ab', 3), event('a', 4)]);
      expect(await records.runs({ prefix: '', limit: 2 })).toEqual([
        { runId: 'a', firstSeq: 1, lastSeq: 4, lastMs: 4 },
        { runId: 'ab', firstSeq: 3, lastSeq: 3, lastMs: 3 },
      ]);
      expect((await records.runs({ prefix: 'a', limit: 9 })).map(({ runId }) => runId)).toEqual(['a', 'ab']);
      expect([await records.lastSeq(), await records.lastSeqOfRun('b'), await records.lastSeqOfRun('x')]).toEqual([
        4, 2, 0,
      ]);
      await records.addChildLogs([entry('x', 'one'), entry('y', 'two'), entry('x', 'three')]);
      expect((await records.children({ prefix: '', limit: 9 })).map(({ childId }) => childId)).toEqual(['x', 'y']);
      expect(await records.childLogs({ childId: 'x', fromSeq: 2, limit: 9 })).toEqual([
        { ...entry('x', 'three'), seq: 3 },
      ]);
    });

    it('distinguish a prune that expired from one that never existed', async () => {
      const clock = manualClock();
      const store = await open({ clock });
      await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
      const id = pruneIdOf('a');
      expect(await store.records.pruneState(id)).toBe('alive');
      expect(await store.records.prunes({ prefix: id, limit: 1 })).toMatchObject([{ pruneId: id, tool: 'read_file' }]);
      clock.now += TTL_MS;
      expect(await store.records.pruneState(id)).toBe('expired');
      expect(await store.records.prunes({ prefix: '', limit: 1 })).toEqual([]);
      expect(await store.records.pruneState('prn_never')).toBe('unknown');
    });

    it('list prunes page by page, newest first, with their age and expiry', async () => {
      const clock = manualClock();
      const store = await open({ clock });
      const { records } = store;
      expect(await records.ages()).toEqual({ oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null });
      const madeMs = clock.now;
      for (const name of ['a', 'b', 'c']) {
        await store.commit({ decisions: [aPrune(name, `text ${name}`)], touch: [] }, 0);
        clock.now += 10;
      }
      const [newest, middle, ...more] = await records.prunesByAge({ limit: 2 });
      expect([newest?.pruneId, middle?.pruneId, more]).toEqual([pruneIdOf('c'), pruneIdOf('b'), []]);
      const rest = await records.prunesByAge({ before: middle?.row ?? 0, limit: 9 });
      expect(rest.map(({ pruneId }) => pruneId)).toEqual([pruneIdOf('a')]);
      expect(await records.ages()).toEqual({
        oldestMs: madeMs,
        newestMs: madeMs + 20,
        nextExpiryMs: madeMs + TTL_MS,
        lastExpiryMs: madeMs + 20 + TTL_MS,
      });
      clock.now += TTL_MS;
      expect(await records.prunesByAge({ limit: 9 })).toEqual([]);
    });

    it('keep the first answer under a key, release failed claims, and forget expired ones', async () => {
      const clock = manualClock();
      const store = await open({ clock });
      const { records } = store;
      expect(await records.claimReply('t', 'k', 'h', 1_000)).toBeNull();
      expect(await records.claimReply('t', 'k', 'h', 1_000)).toEqual({ argsHash: 'h', text: null });
      expect(await records.claimReply('other', 'k', 'h2', 1_000)).toBeNull();
      expect(await records.keepReply('t', 'k', 'h', 'first', 1_000)).toBe('first');
      expect(await records.keepReply('t', 'k', 'h', 'second', 1_000)).toBe('first');
      await records.dropReply('t', 'k', false);
      expect(await records.claimReply('t', 'k', 'h', 1_000)).toEqual({ argsHash: 'h', text: 'first' });
      await records.dropReply('other', 'k', false);
      expect(await records.claimReply('other', 'k', 'h3', 1_000)).toBeNull();

      clock.now += 1_000;
      await sweepAll(store);
      expect(await records.claimReply('t', 'k', 'h4', 1_000)).toBeNull();
      expect(await records.claimReply('other', 'k', 'h4', 1_000)).toBeNull();
    });

    it('keep a claim while its call runs, and then release it to others', async () => {
      const clock = manualClock();
      const { records } = await open({ clock });
      expect(await records.claimReply('t', 'k', 'h', 1_000)).toBeNull();
      clock.now += 900;
      await records.holdReply('t', 'k', 1_000);
      clock.now += 900;
      expect(await records.claimReply('t', 'k', 'h', 1_000)).toEqual({ argsHash: 'h', text: null });
      clock.now += 100;
      expect(await records.claimReply('t', 'k', 'h', 1_000)).toBeNull();
    });

    it('limit the stored lines of agents, as they limit events', async () => {
      const { records } = await open({ maxEvents: 5 });
      await records.addChildLogs(Array.from({ length: 20 }, (_, i) => entry('x', String(i))));
      const kept = await records.childLogs({ childId: 'x', fromSeq: 0, limit: 100 });
      expect(kept.map(({ message }) => message)).toEqual(['15', '16', '17', '18', '19']);
    });

    it('refuse a batch as a whole if one of its prune ids belongs to another text', async () => {
      const store = await open({});
      await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
      const batch = [aPrune('b', 'new'), aPrune('a', 'other text')];
      const { refused } = await store.commit({ decisions: batch, touch: [], wholeOrNothing: true }, 0);
      expect(refused).toEqual([batch[1]?.decision.key]);
      expect(await store.findOriginal(pruneIdOf('b'))).toBeNull();
      const twice = [aPrune('c', 'one'), aPrune('c', 'two')];
      expect((await store.commit({ decisions: twice, touch: [], wholeOrNothing: true }, 0)).refused).toHaveLength(1);
      expect(await store.findOriginal(pruneIdOf('c'))).toBeNull();
    });
    it('keep any text unchanged', async () => {
      const { records } = await open({});
      const text = 'NUL \0, one \x01, both \x01\0\x010, é 😀';
      await records.addChildLogs([{ ...entry('x\0', text), parsed: { text }, jobId: 'j', nodeId: text }]);
      expect(await records.childLogs({ childId: 'x\0', fromSeq: 0, limit: 9 })).toMatchObject([
        { message: text, parsed: { text }, jobId: 'j', nodeId: text },
      ]);
      expect(await records.keepReply('t\0', 'k', 'h', text, 1_000)).toBe(text);
      expect(await records.claimReply('t\0', 'k', 'h', 1_000)).toEqual({ argsHash: 'h', text });
    });
  });
}
