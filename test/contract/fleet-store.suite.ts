import type { BoardWrite, ChildRecord, FleetEvent, GraphCommit, PlanRecord } from '@mcp-pruner/fleet/ports.ts';
import type { FleetStore } from '@mcp-pruner/fleet/tables/fleet-store.ts';
import { describe, expect, it } from 'vitest';
import type { StoredChildLog } from '../../src/core/ports/records.ts';
import type { StoredEvent } from '../../src/core/ports.ts';

/** A store of the fleet, with what a test moves and looks at beside it. */
export interface FleetBench {
  readonly store: FleetStore;
  readonly clock: { now: number };
  events(): Promise<readonly StoredEvent[]>;
  logs(childId: string): Promise<readonly StoredChildLog[]>;
}

export function anEvent(kind: string, payload: Record<string, unknown> = {}): FleetEvent {
  return { kind, level: 'info', runId: 'run', opId: null, payload };
}

export function aWrite(key: string, value: unknown = 1, over: Partial<BoardWrite> = {}): BoardWrite {
  return { key, namespace: 'test', value: JSON.stringify(value), tags: [], ttlMs: null, ...over };
}

export function aCommit(over: Partial<GraphCommit> = {}): GraphCommit {
  return {
    graphId: 'g',
    baseVersion: 0,
    text: '{"name":"g","metadata":{},"nodes":0}',
    owner: null,
    note: null,
    txId: `tx-${Math.random()}`,
    isTransaction: false,
    events: (version) => [anEvent('graph_committed', { version })],
    ...over,
  };
}

export function aChild(childId: string, over: Partial<ChildRecord> = {}): ChildRecord {
  return {
    childId,
    state: 'created',
    agent: null,
    command: '/bin/true',
    role: null,
    limits: {},
    limitsUnenforced: [],
    metadata: {},
    correlation: { runId: 'run', opId: null, jobId: null, graphId: null, nodeId: null, childId: null },
    workdir: null,
    manifestPath: null,
    tokenHash: null,
    instanceId: 'one',
    pid: null,
    processStart: null,
    createdMs: 1,
    startedMs: null,
    attachedMs: null,
    endedMs: null,
    exitCode: null,
    signal: null,
    stopReason: null,
    starts: 0,
    usage: { messages: 0, tokensIn: 0, tokensOut: 0, costUsd: null, wallclockMs: 0 },
    limitsTold: [],
    ...over,
  };
}

export function aPlan(runId: string, over: Partial<PlanRecord> = {}): PlanRecord {
  return {
    runId,
    opId: `op-${runId}`,
    mode: 'bt',
    state: 'running',
    progress: 0,
    startedMs: 0,
    updatedMs: 0,
    finishedMs: null,
    pausedMs: null,
    dryRun: false,
    reason: null,
    result: null,
    instanceId: 'one',
    ...over,
  };
}

const noEvents = () => [];
const boardEvents = ({ kind, key, version }: { kind: string; key: string; version: number }) => [
  anEvent(`bb_${kind}`, { key, version }),
];

/** What every store of the fleet does, whatever it is made of. */
/** @param filled - whether stores are filled up to their bounds, which takes a while where each step is a round trip */
export function fleetStoreSuite(name: string, open: () => Promise<FleetBench>, { filled = true } = {}): void {
  describe(`${name}: graphs`, () => {
    it('creates versions in sequence, each with its snapshot and its event', async () => {
      const { store, clock, events } = await open();
      const first = await store.graphs.commit(aCommit({ txId: 't1', owner: 'me', note: 'why' }));
      expect(first).toEqual({ kind: 'committed', version: 1, committedMs: clock.now });
      clock.now += 5;
      const text = 'x'.repeat(10_000);
      expect(await store.graphs.commit(aCommit({ baseVersion: 1, text, txId: 't2' }))).toMatchObject({ version: 2 });
      expect(await store.graphs.head('g')).toEqual({ graphId: 'g', version: 2, committedMs: clock.now });
      expect((await store.graphs.version('g', 2))?.text).toBe(text);
      expect((await store.graphs.version('g', 1))?.committedMs).toBe(clock.now - 5);
      expect(await store.graphs.version('g', 3)).toBeNull();
      expect(await store.graphs.snapshot('g', 't1')).toMatchObject({
        state: 'committed',
        baseVersion: 0,
        finalVersion: 1,
        owner: 'me',
        note: 'why',
      });
      expect((await events()).map(({ payload }) => payload.version)).toEqual([1, 2]);
    });

    it('creates no version for a conflicting commit, or for one without a change', async () => {
      const { store, clock } = await open();
      await store.graphs.commit(aCommit());
      expect(await store.graphs.commit(aCommit())).toEqual({ kind: 'conflict', found: 1 });
      expect(await store.graphs.commit(aCommit({ baseVersion: 7 }))).toEqual({ kind: 'conflict', found: 1 });
      const committedMs = clock.now;
      clock.now += 5;
      const same = await store.graphs.commit(aCommit({ baseVersion: 1, text: null, txId: 'none' }));
      expect(same).toEqual({ kind: 'committed', version: 1, committedMs });
      expect(await store.graphs.snapshot('g', 'none')).toBeNull();
    });

    it('lets only the holder of a lock commit, begin and stage, and everybody after it has expired', async () => {
      const { store, clock } = await open();
      const asked = { graphId: 'g', holder: 'h', ttlMs: 100, newId: 'lock' };
      expect(await store.graphs.lock(asked, noEvents)).toMatchObject({ lockId: 'lock', acquiredMs: clock.now });
      clock.now += 10;
      const again = await store.graphs.lock({ ...asked, newId: 'other' }, noEvents);
      expect(again).toMatchObject({ lockId: 'lock', acquiredMs: clock.now - 10, expiresMs: clock.now + 100 });
      expect(await store.graphs.lock({ ...asked, holder: 'x', newId: 'x' }, noEvents)).toEqual(again);
      expect(await store.graphs.commit(aCommit())).toMatchObject({ kind: 'locked' });
      expect(await store.graphs.commit(aCommit({ owner: 'h' }))).toMatchObject({ kind: 'committed' });
      const begin = { graphId: 'g', txId: 't', baseVersion: 1, owner: null, note: null, ttlMs: null, text: null };
      expect(await store.graphs.begin(begin, [])).toMatchObject({ kind: 'locked' });
      clock.now += 100;
      expect(await store.graphs.commit(aCommit({ baseVersion: 1 }))).toMatchObject({ kind: 'committed' });
      expect(await store.graphs.unlock('lock', noEvents)).toMatchObject({ expired: true, releasedMs: clock.now });
      expect(await store.graphs.unlock('lock', noEvents)).toBeNull();
    });

    it('isolates the working copy of a transaction until it is committed', async () => {
      const { store, events } = await open();
      await store.graphs.commit(aCommit());
      const begin = { graphId: 'g', txId: 't', baseVersion: 1, owner: 'me', note: null, ttlMs: null, text: null };
      expect(await store.graphs.begin(begin, [anEvent('tx_begun')])).toMatchObject({ kind: 'begun' });
      expect(await store.graphs.stage('t', 0, 'new', null)).toBe('staged');
      expect(await store.graphs.stage('t', 0, 'late', null)).toBe('stale');
      expect(await store.graphs.transaction('t', noEvents)).toMatchObject({ revision: 1, text: 'new' });
      expect(await store.graphs.head('g')).toMatchObject({ version: 1 });
      const commit = aCommit({ txId: 't', baseVersion: 1, text: 'new', isTransaction: true });
      expect(await store.graphs.commit(commit)).toMatchObject({ kind: 'committed', version: 2 });
      expect(await store.graphs.transaction('t', noEvents)).toBeNull();
      expect(await store.graphs.commit(commit)).toEqual({ kind: 'gone' });
      expect(await store.graphs.snapshot('g', 't')).toMatchObject({ state: 'committed', finalVersion: 2 });
      expect((await events()).map(({ kind }) => kind)).toEqual(['graph_committed', 'tx_begun', 'graph_committed']);
    });

    it('ends a transaction by rollback or timeout, and reports the end once', async () => {
      const { store, clock, events } = await open();
      const begin = { graphId: 'g', baseVersion: 0, owner: null, note: null, text: 'x' };
      await store.graphs.begin({ ...begin, txId: 'a', ttlMs: null }, []);
      await store.graphs.begin({ ...begin, txId: 'b', ttlMs: 50 }, []);
      expect(await store.graphs.rollback('a', [anEvent('tx_rolled_back')])).toMatchObject({ state: 'rolled_back' });
      expect(await store.graphs.rollback('a', [])).toBeNull();
      clock.now += 50;
      const expired = () => [anEvent('tx_expired')];
      expect(await store.graphs.transaction('b', expired)).toBe('expired');
      expect(await store.graphs.transaction('b', expired)).toBe('expired');
      await store.graphs.sweep(expired);
      expect(await store.graphs.snapshot('g', 'b')).toMatchObject({ state: 'expired' });
      expect((await events()).map(({ kind }) => kind)).toEqual(['tx_rolled_back', 'tx_expired']);
    });

    it.runIf(filled)('limits versions, snapshots and open transactions', async () => {
      const { store } = await open();
      for (let version = 0; version < 503; version++) {
        await store.graphs.commit(aCommit({ baseVersion: version, txId: `v${version}`, text: `${version}` }));
      }
      expect(await store.graphs.version('g', 3)).toBeNull();
      expect((await store.graphs.version('g', 4))?.text).toBe('3');
      expect((await store.graphs.version('g', 503))?.text).toBe('502');
      const begin = { graphId: 'h', baseVersion: 0, owner: null, note: null, ttlMs: null, text: 'x' };
      for (let i = 0; i < 100; i++) await store.graphs.begin({ ...begin, txId: `t${i}` }, []);
      expect(await store.graphs.begin({ ...begin, txId: 't100' }, [])).toEqual({ kind: 'full' });
    });
  });

  describe(`${name}: blackboard`, () => {
    it('numbers all changes in one sequence and delivers each to a watcher once', async () => {
      const { store, clock } = await open();
      const [one] = (await store.board.set([aWrite('a', 1), aWrite('b', 2)], noEvents)) ?? [];
      expect(one).toMatchObject({ key: 'a', value: 1, version: 1, createdMs: clock.now, expiresMs: null });
      clock.now += 5;
      await store.board.set([aWrite('a', { deep: [null] }, { tags: ['t'], namespace: 'other' })], noEvents);
      expect(await store.board.delete('b', noEvents)).toBe(true);
      expect(await store.board.delete('b', noEvents)).toBe(false);
      const { events, dropped } = await store.board.changes({ after: 1, namespace: null, limit: 10 });
      expect(dropped).toBe(0);
      expect(events.map(({ version, kind, key }) => [version, kind, key])).toEqual([
        [2, 'set', 'b'],
        [3, 'set', 'a'],
        [4, 'delete', 'b'],
      ]);
      expect(events[1]?.previous).toMatchObject({ value: 1 });
      expect(events[1]?.entry).toMatchObject({
        value: { deep: [null] },
        createdMs: clock.now - 5,
        updatedMs: clock.now,
      });
      expect((await store.board.changes({ after: 0, namespace: 'other', limit: 10 })).events).toHaveLength(1);
      expect(await store.board.lastVersion()).toBe(4);
    });

    it('expires an entry exactly once, even if it is replaced before the sweep', async () => {
      const { store, clock, events } = await open();
      await store.board.set([aWrite('a', 1, { ttlMs: 10 }), aWrite('b', 1, { ttlMs: 20 })], boardEvents);
      clock.now += 9;
      expect(await store.board.get('a')).not.toBeNull();
      clock.now += 1;
      expect(await store.board.get('a')).toBeNull();
      expect(await store.board.query({ tags: [], namespace: null, before: null, limit: 10 })).toHaveLength(1);
      await store.board.set([aWrite('a', 2)], boardEvents);
      clock.now += 100;
      expect(await store.board.expire(boardEvents)).toBe(true);
      expect(await store.board.expire(boardEvents)).toBe(false);
      const { events: changes } = await store.board.changes({ after: 2, namespace: null, limit: 10 });
      expect(changes.map(({ kind, key, reason }) => [kind, key, reason])).toEqual([
        ['expire', 'a', 'ttl'],
        ['set', 'a', null],
        ['expire', 'b', 'ttl'],
      ]);
      expect((await events()).map(({ kind, payload }) => [kind, payload.version])).toEqual([
        ['bb_set', 1],
        ['bb_set', 2],
        ['bb_expire', 3],
        ['bb_set', 4],
        ['bb_expire', 5],
      ]);
    });

    it('finds entries by keys, by all of some tags and by namespace, newest first, page by page', async () => {
      const { store } = await open();
      await store.board.set(
        [
          aWrite('a', 1, { tags: ['x', 'y'] }),
          aWrite('b', 2, { tags: ['x'] }),
          aWrite('c', 3, { tags: ['x', 'y'], namespace: 'n' }),
        ],
        noEvents,
      );
      const query = { tags: [] as string[], namespace: null, before: null, limit: 10 };
      const keys = async (over: object) => (await store.board.query({ ...query, ...over })).map(({ key }) => key);
      expect(await keys({})).toEqual(['c', 'b', 'a']);
      expect(await keys({ tags: ['x', 'y'] })).toEqual(['c', 'a']);
      expect(await keys({ keys: ['a', 'b', 'zz'], tags: ['x'] })).toEqual(['b', 'a']);
      expect(await keys({ namespace: 'n' })).toEqual(['c']);
      expect(await keys({ limit: 2 })).toEqual(['c', 'b']);
      expect(await keys({ limit: 2, before: 2 })).toEqual(['a']);
      expect(await store.board.namespaces({ prefix: 'n', limit: 5 })).toMatchObject([{ namespace: 'n', entries: 1 }]);
    });

    it.runIf(filled)('keeps the newest ten thousand changes and reports which are gone', async () => {
      const { store } = await open();
      for (let i = 0; i < 101; i++) {
        const writes = Array.from({ length: 100 }, (_, j) => aWrite(`k${j}`, i));
        await store.board.set(writes, noEvents);
      }
      const { events, dropped } = await store.board.changes({ after: 0, namespace: null, limit: 1 });
      expect([dropped, events[0]?.version]).toEqual([100, 101]);
    });

    it.runIf(filled)('stores up to ten thousand entries, and rejects a batch beyond that as a whole', async () => {
      const { store } = await open();
      for (let i = 0; i < 100; i++) {
        await store.board.set(
          Array.from({ length: 100 }, (_, j) => aWrite(`k${i}-${j}`)),
          noEvents,
        );
      }
      expect(await store.board.set([aWrite('k0-0', 2), aWrite('more')], noEvents)).toBeNull();
      expect((await store.board.get('k0-0'))?.value).toBe(1);
      expect(await store.board.set([aWrite('k0-0', 2)], noEvents)).not.toBeNull();
      expect(await store.board.lastVersion()).toBe(10_001);
    });
  });

  describe(`${name}: pheromones`, () => {
    it('add up, are changed atomically, and are removed when their strength is used up', async () => {
      const { store, clock, events } = await open();
      const marks = [
        { nodeId: 'n', type: 'busy', intensity: 1 },
        { nodeId: 'n', type: 'busy', intensity: 2 },
        { nodeId: 'n', type: 'done', intensity: 4 },
      ];
      const changes = await store.field.mark(marks, ({ point }) => [anEvent('stig_changed', { type: point.type })]);
      expect(changes?.map(({ point, nodeTotal }) => [point.intensity, nodeTotal.intensity])).toEqual([
        [1, 1],
        [3, 3],
        [4, 7],
      ]);
      clock.now += 10;
      const updated = await store.field.update(
        (point, nowMs) => ({ ...point, intensity: point.type === 'busy' ? 0 : 2, updatedAt: nowMs }),
        () => [],
      );
      expect(updated.map(({ nodeTotal }) => nodeTotal.intensity)).toEqual([4, 2]);
      expect((await store.field.points()).points).toEqual([
        { nodeId: 'n', type: 'done', intensity: 2, updatedAt: clock.now },
      ]);
      expect(await events()).toHaveLength(3);
    });
  });

  describe(`${name}: children`, () => {
    it('keeps a record, its log and its events together', async () => {
      const { store, events, logs } = await open();
      const meta = { stream: 'meta' as const, message: 'created', parsed: null };
      const made = { record: aChild('c'), spec: { prompt: 'p' }, events: [anEvent('child_created')], logs: [meta] };
      expect(await store.children.insert(made, 10)).toBe(true);
      expect(await store.children.insert(made, 10)).toBe(false);
      expect(await store.children.get('c')).toEqual(aChild('c'));
      expect(await store.children.spec('c')).toEqual({ prompt: 'p' });
      const started = await store.children.update('c', (record, active) => ({
        record: { ...record, state: 'running', tokenHash: 'h', starts: active + 1 },
        logs: [{ ...meta, message: 'started' }],
      }));
      expect(started).toMatchObject({ state: 'running', starts: 1 });
      expect(await store.children.byToken('h')).toEqual(started);
      expect(await store.children.update('c', () => null)).toEqual(started);
      expect(await store.children.update('x', () => null)).toBeNull();
      const out = { stream: 'stdout' as const, message: '{"a":1}', parsed: { a: 1 } };
      await store.children.addOutput('c', [out], { stdout: 8, stderr: 0 });
      expect(await store.children.positions('c')).toEqual({ stdout: 8, stderr: 0 });
      expect((await logs('c')).map(({ message, runId }) => [message, runId])).toEqual([
        ['created', 'run'],
        ['started', 'run'],
        ['{"a":1}', 'run'],
      ]);
      expect(await store.children.remove('c', [])).toBe(true);
      expect(await store.children.get('c')).toBeNull();
      expect(await logs('c')).toHaveLength(3);
      expect(await events()).toHaveLength(1);
    });

    it('lists the newest children first, and drops the oldest ended children', async () => {
      const { store } = await open();
      const add = (id: string, over: Partial<ChildRecord>) =>
        store.children.insert({ record: aChild(id, over), spec: {} }, 3);
      await add('a', { state: 'running' });
      await add('b', { state: 'terminated', endedMs: 5 });
      await add('c', { state: 'killed', endedMs: 4 });
      await add('d', { state: 'created' });
      const ids = async (query: object) =>
        (await store.children.list({ limit: 9, ...query })).map((one) => one.childId);
      expect(await ids({})).toEqual(['d', 'b', 'a']);
      expect(await ids({ state: 'running' })).toEqual(['a']);
      expect(await ids({ open: true })).toEqual(['a']);
      expect(await ids({ runId: 'run' })).toHaveLength(3);
      expect(await store.children.endedBefore(6)).toEqual(['b']);
    });

    it('lists the servers that reported recently', async () => {
      const { store, clock } = await open();
      await store.children.heartbeat({ instanceId: 'one', pid: 1, url: 'u' });
      clock.now += 10;
      await store.children.heartbeat({ instanceId: 'two', pid: 2, url: 'u' });
      expect([...(await store.children.aliveSince(clock.now - 5))]).toEqual([['two', 2]]);
      await store.children.farewell('two');
      expect([...(await store.children.aliveSince(0))]).toEqual([['one', 1]]);
    });
  });

  describe(`${name}: plans and contracts`, () => {
    it('keeps one run of an id at a time, and the newest run of an operation', async () => {
      const { store } = await open();
      expect(await store.plans.begin(aPlan('r'), [])).toMatchObject({ runId: 'r' });
      expect(await store.plans.begin(aPlan('r'), [])).toBeNull();
      await store.plans.save(aPlan('r', { state: 'done', result: { x: 1 } }), [], 10);
      expect(await store.plans.get('r')).toMatchObject({ state: 'done', result: { x: 1 } });
      expect(await store.plans.begin(aPlan('r', { opId: 'new' }), [])).not.toBeNull();
      expect(await store.plans.byOperation('new')).toMatchObject({ runId: 'r', state: 'running' });
      expect(await store.plans.open()).toHaveLength(1);
      expect(await store.plans.open('other')).toHaveLength(0);
    });

    it('decides an award among the open bids, and closes it once', async () => {
      const { store, clock } = await open();
      const announce = (callId: string, deadlineMs: number | null) =>
        store.contracts.announce((open, nowMs) => ({
          record: {
            callId,
            taskId: 't',
            status: 'awarded',
            announcedMs: nowMs,
            deadlineMs,
            completedMs: null,
            agentId: 'a',
            body: { open: open.get('a') ?? 0 },
          },
          events: [],
        }));
      expect((await announce('1', null)).body.open).toBe(0);
      expect((await announce('2', 10)).body.open).toBe(1);
      expect((await announce('3', null)).body.open).toBe(2);
      clock.now += 10;
      expect(await store.contracts.complete('1', noEvents)).toMatchObject({ status: 'completed' });
      expect((await announce('4', null)).body.open).toBe(1);
      expect(await store.contracts.complete('nothing', noEvents)).toBeNull();
    });
  });
}
