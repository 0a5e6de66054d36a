import { describe, expect, it, vi } from 'vitest';
import type { NotedSegment, SegmentBatch } from '../../src/core/ports/segments.ts';
import { verifiedHistoryProject } from '../../src/core/segments/verified-history-project.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import { aPrune, hashOf, manualClock, pruneIdOf, type StoreSetup } from './store.suite.ts';

const TTL_MS = 80_000;

/** Opens an empty store that is closed with the test, or another one on what `beside` lies on. */
export type Open = (given: {
  readonly clock?: StoreSetup['clock'];
  readonly beside?: StoreHandle;
}) => Promise<StoreHandle>;

export function aSegment(id: string, over: Partial<NotedSegment> = {}): NotedSegment {
  return {
    id,
    ordinal: 3,
    role: 'tool',
    type: 'code',
    effect: 'read',
    tokens: 400,
    lines: 30,
    tool: 'read_file',
    path: 'src/a.ts',
    startLine: 1,
    endLine: 30,
    callKey: 4_000_000_000,
    about: Uint32Array.of(1, 4_294_967_295),
    mentions: Uint32Array.of(7),
    edited: new Uint32Array(),
    pruneIds: [],
    erase: [],
    ...over,
  };
}

export function aBatch(segments: readonly NotedSegment[], over: Partial<SegmentBatch> = {}): SegmentBatch {
  return {
    project: 'p',
    task: 'task',
    conversationId: 'c',
    messages: 9,
    whole: true,
    atMs: 1_700_000_000_000,
    turns: 1,
    segments,
    ...over,
  };
}

const pin = (segment: string) => ({ segment, action: 'pin' as const, scope: '', upTo: -1 });

async function sweepAll(store: StoreHandle): Promise<void> {
  while (await store.sweep());
}

async function listed(store: StoreHandle, project = 'p'): Promise<string[]> {
  const conversations = await store.segments.conversations(project);
  const pages = await Promise.all(conversations.map((one) => store.segments.segments(one, { limit: 100 })));
  return pages.flat().map(({ id }) => id);
}

/** What the segments and directives of any store must do. */
export function segmentsContract(name: string, open: Open): void {
  describe(name, () => {
    describe('conversations', () => {
      it('of all projects are found by their name, the most recently seen first', async () => {
        const { segments } = await open({});
        const seen = [
          ['p', 'one', 5],
          ['q', 'two', 7],
          ['q', 'one', 6],
        ] as const;
        for (const [project, conversationId, atMs] of seen) {
          await segments.note([aBatch([], { project, conversationId, atMs })]);
        }
        const found = await segments.conversationsNamed('one');
        expect(found.map(({ project, name }) => `${project} ${name}`)).toEqual(['q one', 'p one']);
        expect(await segments.conversationsNamed('none')).toEqual([]);
      });

      it('report which prunes contain lines of their segments', async () => {
        const { segments } = await open({});
        const pruneIds = [pruneIdOf('a'), pruneIdOf('b')].sort();
        await segments.note([aBatch([aSegment('seg_1', { pruneIds }), aSegment('seg_2')])]);
        const found = await segments.findSegments('p', ['seg_1', 'seg_2']);
        const [one, two] = ['seg_1', 'seg_2'].map((id) => found.get(id)?.row ?? 0);
        expect(await segments.prunesOf([one ?? 0, two ?? 0, 1_000_000])).toEqual(new Map([[one, pruneIds]]));
        expect(await segments.prunesOf([])).toEqual(new Map());
      });
    });

    describe('a segment', () => {
      it('is returned as it was recorded, and found in its own project only', async () => {
        const { segments } = await open({});
        const noted = aSegment('seg_1', { tool: 'lone \ud83d', path: 'ü.ts' });
        await segments.note([aBatch([noted])]);
        const found = (await segments.findSegments('p', ['seg_1', 'seg_2'])).get('seg_1');
        const { pruneIds: _p, erase: _e, ...facts } = noted;
        expect(found).toMatchObject({ ...facts, tool: 'lone \ufffd', conversation: 'c', task: 'task', directed: null });
        expect((await segments.findSegments('other', ['seg_1'])).size).toBe(0);
      });

      it('keeps its first time and task, no matter how often it is seen again', async () => {
        const { segments } = await open({});
        await segments.note([aBatch([aSegment('seg_1')])]);
        await segments.note([aBatch([], { whole: false, turns: 4, task: 'next' })]);
        await segments.note([
          aBatch([aSegment('seg_1', { tokens: 9 }), aSegment('seg_2')], { task: 'next', atMs: 1_700_000_009_000 }),
        ]);
        const found = await segments.findSegments('p', ['seg_1', 'seg_2']);
        expect(found.get('seg_1')).toMatchObject({
          tokens: 9,
          firstTurn: 1,
          seenTurn: 6,
          task: 'task',
          createdMs: 1_700_000_000_000,
        });
        expect(found.get('seg_2')).toMatchObject({ firstTurn: 6, task: 'next' });
        const [conversation] = await segments.conversations('p');
        expect(conversation).toMatchObject({ turns: 6, baseTurn: 6, task: 'next', messages: 9 });
        expect(await segments.conversations('p', 'task')).toHaveLength(1);
        expect(await segments.conversations('p', 'never')).toHaveLength(0);
      });

      it('gets the time and turn of the last request that added it, in this or another conversation', async () => {
        const { segments } = await open({});
        const goesOn = { whole: false } as const;
        const seen = async (id: string) => (await segments.findSegments('p', [id])).get(id);
        await segments.note([
          aBatch([aSegment('seg_1', { ordinal: 0 }), aSegment('seg_2', { ordinal: 2 })], { atMs: 1 }),
        ]);
        await segments.note([aBatch([aSegment('seg_3', { ordinal: 4 })], { ...goesOn, atMs: 2 })]);
        await segments.note([aBatch([aSegment('seg_1', { ordinal: 6 })], { ...goesOn, atMs: 3 })]);
        expect(await seen('seg_1')).toMatchObject({ createdMs: 3, firstTurn: 3 });
        // the client left out older messages: what stays was said when it was said
        const shorter = [aSegment('seg_3', { ordinal: 0 }), aSegment('seg_1', { ordinal: 8 })];
        await segments.note([aBatch(shorter, { atMs: 4 })]);
        expect(await seen('seg_1')).toMatchObject({ createdMs: 3 });
        await segments.note([aBatch([aSegment('seg_3', { ordinal: 1 })], { conversationId: 'another', atMs: 5 })]);
        expect(await seen('seg_3')).toMatchObject({ createdMs: 5, firstTurn: 1 });
        expect(await seen('seg_2')).toMatchObject({ createdMs: 1, firstTurn: 1 });
      });

      it('is listed in the order of its message, page by page', async () => {
        const { segments } = await open({});
        const many = Array.from({ length: 25 }, (_, i) => aSegment(`seg_${i}`, { ordinal: i % 10 }));
        await segments.note([aBatch(many)]);
        const [conversation] = await segments.conversations('p');
        if (!conversation) throw new Error('no conversation');
        const all = await segments.segments(conversation, { limit: 100 });
        expect(all.map(({ ordinal }) => ordinal)).toEqual(many.map(({ ordinal }) => ordinal).sort((a, b) => b - a));
        const paged: (typeof all)[number][] = [];
        for (let page = await segments.segments(conversation, { limit: 7 }); page.length > 0; ) {
          paged.push(...page);
          const after = page.at(-1);
          page = await segments.segments(conversation, { limit: 7, ...(after && { after }) });
        }
        expect(paged).toEqual(all);
      });
    });

    describe('directives', () => {
      it('reach another process at its next turn, and only if they changed', async () => {
        const first = await open({});
        const [here, there] = [first.segments, (await open({ beside: first })).segments];
        const before = there.directivesVersion();
        expect(await there.directives('p', 0)).toBeNull();
        await here.change({ project: 'p', set: [pin('seg_1')], clear: [] });
        await vi.waitFor(() => expect(there.directivesVersion()).not.toBe(before), { timeout: 10_000 });
        const read = await there.directives('p', 0);
        expect(read?.directives).toEqual([pin('seg_1')]);
        expect(await there.directives('p', read?.generation)).toBeNull();
        expect(await there.directives('q', 0)).toBeNull();
        await here.change({ project: 'q', set: [pin('seg_1')], clear: [] });
        expect(await there.directives('p', read?.generation)).toBeNull();
      });

      it('replace earlier directives, including the directives of steps; a step replaces none', async () => {
        const { segments } = await open({});
        const stash = (segment: string) => ({ segment, action: 'stash' as const, scope: 's1', upTo: 5 });
        const step = { scope: 's1', conversation: 'c', messages: 5 };
        await segments.change({ project: 'p', set: [stash('a'), stash('b')], clear: [], step });
        await segments.change({ project: 'p', set: [pin('a')], clear: [] });
        await segments.change({ project: 'p', set: [stash('b')], clear: [], step });
        expect(await segments.directives('p')).toMatchObject({ directives: [pin('a'), stash('b')], steps: [step] });
        await segments.change({ project: 'p', set: [], clear: ['a', 'b', 'unknown'] });
        expect(await segments.directives('p')).toMatchObject({ directives: [] });
      });

      it('are listed with their segments', async () => {
        const { segments } = await open({});
        await segments.note([aBatch([aSegment('a')])]);
        await segments.change({ project: 'p', set: [pin('a')], clear: [] });
        await segments.change({ project: 'other', set: [{ ...pin('a'), action: 'delete' }], clear: [] });
        expect((await segments.findSegments('p', ['a'])).get('a')?.directed).toBe('pin');
      });
    });

    describe('a deletion', () => {
      it('erases the prunes of the segment, except those that another segment needs', async () => {
        const store = await open({});
        const decisions = [aPrune('own', 'text one'), aPrune('shared', 'text two'), aPrune('stash', 'text three')];
        await store.commit({ decisions, touch: [] }, 0);
        const [own = '', shared = '', stash = ''] = ['own', 'shared', 'stash'].map(pruneIdOf);
        await store.segments.note([
          aBatch([aSegment('a', { pruneIds: [own, shared] })]),
          aBatch([aSegment('a', { pruneIds: [shared] })], { project: 'q' }),
        ]);
        const gone = (segment: string) => ({ segment, action: 'delete' as const, scope: '', upTo: -1 });
        await store.segments.change({ project: 'p', set: [gone('a')], clear: [], erase: [stash] });
        expect(await store.findOriginal(own)).toBeNull();
        expect(await store.findOriginal(stash)).toBeNull();
        expect(await store.findOriginal(shared)).toBe('text two');
        await store.segments.change({ project: 'q', set: [gone('a')], clear: [] });
        expect(await store.findOriginal(shared)).toBeNull();
      });

      it('includes texts that a request in progress stored in the meantime', async () => {
        const store = await open({});
        await store.segments.change({ project: 'p', set: [{ ...pin('a'), action: 'delete' }], clear: [] });
        await store.commit({ decisions: [aPrune('late', 'late text')], touch: [] }, 0);
        await store.segments.note([aBatch([aSegment('a', { pruneIds: [pruneIdOf('late')] })])]);
        expect(await store.findOriginal(pruneIdOf('late'))).toBe('late text');
        await store.segments.note([aBatch([aSegment('a', { erase: ['prn_000000000000'] })])]);
        expect(await store.findOriginal(pruneIdOf('late'))).toBeNull();
      });

      it('changes the epoch, so that no process replays deleted texts from memory', async () => {
        const store = await open({});
        await store.commit({ decisions: [aPrune('own', 'text one')], touch: [] }, 0);
        await store.segments.note([aBatch([aSegment('a', { pruneIds: [pruneIdOf('own')] })])]);
        const epoch = store.epoch();
        await store.segments.change({ project: 'p', set: [{ ...pin('a'), action: 'delete' }], clear: [] });
        expect(store.epoch()).not.toBe(epoch);
        expect((await store.findDecisions([hashOf('key own')])).size).toBe(0);
      });
    });

    describe('a sweep', () => {
      it('forgets conversations that were not seen for a lifetime, with the steps taken in them', async () => {
        const clock = manualClock();
        const store = await open({ clock });
        const step = { scope: 's1', conversation: 'c', messages: 5 };
        await store.segments.note([aBatch([aSegment('a')]), aBatch([aSegment('b')], { conversationId: 'd' })]);
        const stash = { segment: 'a', action: 'stash' as const, scope: 's1', upTo: 5 };
        await store.segments.change({ project: 'p', set: [stash, pin('z')], clear: [], step });
        clock.now += TTL_MS;
        await store.segments.note([aBatch([], { conversationId: 'd', atMs: clock.now, whole: false })]);
        await sweepAll(store);
        expect(await listed(store)).toEqual(['b']);
        // what an agent asked for itself stays
        expect(await store.segments.directives('p')).toMatchObject({ directives: [pin('z')], steps: [] });
      });

      it.each([
        ['', 'p'],
        [', also where the history is verified', verifiedHistoryProject('p')],
      ])('keeps a step while another session has a conversation with the same first words%s', async (_, project) => {
        const clock = manualClock();
        const store = await open({ clock });
        const content = 'c'.repeat(32);
        const step = { scope: 's1', conversation: content, messages: 5 };
        const [one, other] = [`0123456789ab-${content}`, content];
        await store.segments.note([
          aBatch([], { conversationId: one }),
          aBatch([], { conversationId: other, project }),
        ]);
        const stash = { segment: 'a', action: 'stash' as const, scope: 's1', upTo: 5 };
        await store.segments.change({ project: 'p', set: [stash], clear: [], step });
        clock.now += TTL_MS;
        await store.segments.note([aBatch([], { conversationId: other, project, atMs: clock.now, whole: false })]);
        await sweepAll(store);
        expect((await store.segments.conversations(project)).map(({ name }) => name)).toEqual([other]);
        expect(await store.segments.directives('p')).toMatchObject({ directives: [stash], steps: [step] });
        clock.now += TTL_MS;
        await sweepAll(store);
        expect(await store.segments.directives('p')).toMatchObject({ directives: [], steps: [] });
      });
    });
  });
}
