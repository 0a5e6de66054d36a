import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { describe, expect, it } from 'vitest';
import type { EventRecord } from '../../src/core/ports.ts';
import type { StoreHandle, StoreOptions } from '../../src/store/handle.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { aTurn } from '../contract/ledger-store.suite.ts';
import { aBatch, aSegment } from '../contract/segments.suite.ts';
import { aPrune, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { hasPostgres, sharedDatabase } from '../helpers/postgres.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { tempPath } from './helpers.ts';

const DAY = 86_400_000;
const NOW = 400 * DAY;
const KEPT = 20;

const emptyDatabase = sharedDatabase();
type Open = (over?: Partial<StoreOptions>) => Promise<{ store: StoreHandle; clock: ReturnType<typeof manualClock> }>;

async function opened(open: (options: StoreOptions) => StoreHandle, over: Partial<StoreOptions> = {}) {
  const clock = manualClock(NOW);
  const store = open({ clock, ttlMs: 1e12, maxBytes: 1e9, maxEvents: KEPT, ...over });
  afterwards(() => store.close());
  await store.ready();
  return { store, clock };
}

const stores: [string, Open, boolean][] = [
  ['a file', (over) => opened((options) => openSqliteStore({ path: tempPath(), ...options }), over), true],
  [
    'a database',
    async (over) => {
      const url = await emptyDatabase();
      return opened((options) => openPostgresStore({ url, ...options }), over);
    },
    hasPostgres,
  ],
];

const plain = (n: number): EventRecord => ({
  ...{ tsMs: NOW, kind: 'request', level: 'info', runId: 'r', opId: null, payload: { n } },
});
const audit = (kind: string, payload: EventRecord['payload'], tsMs = NOW): EventRecord => ({
  ...{ tsMs, kind, level: 'info', runId: 'keys', opId: null, payload, audit: true },
});

async function swept(store: StoreHandle): Promise<void> {
  while (await store.sweep());
}

describe.each(stores.filter(([, , isHere]) => isHere))('the retention of %s', (place, open) => {
  it('never drops audit events to make room for other events, and limits only the other events', async () => {
    const { store } = await open();
    await store.addEvents([audit('key_created', { key_id: 'k1' })]);
    for (let n = 0; n < 200; n += 10) await store.addEvents(Array.from({ length: 10 }, (_, i) => plain(n + i)));
    await store.addEvents([audit('key_revoked', { key_id: 'k1' }), audit('signed_in', { key_id: null })]);
    await swept(store);
    const events = await store.events({ fromSeq: 0, limit: 999 });
    expect(events.filter(({ kind }) => kind !== 'request').map(({ kind }) => kind)).toEqual([
      'key_created',
      'key_revoked',
      'signed_in',
    ]);
    expect(events.filter(({ kind }) => kind === 'request').map(({ payload }) => payload.n)).toEqual(
      Array.from({ length: KEPT }, (_, i) => 200 - KEPT + i),
    );
  });

  it('keeps audit events for a year, or as configured', async () => {
    for (const [over, days] of [
      [{}, 365],
      [{ auditTtlMs: 10 * DAY }, 10],
    ] as const) {
      const { store } = await open(over);
      const at = (ago: number) => audit('erased', { ago }, NOW - ago * DAY);
      await store.addEvents([at(days + 1), at(days - 1), at(0)]);
      await swept(store);
      const events = await store.events({ fromSeq: 0, limit: 99 });
      expect(events.map(({ payload }) => payload.ago)).toEqual([days - 1, 0]);
    }
  });

  it('merges refusals with the same key, reason and minute into one event', async () => {
    const { store } = await open();
    const minute = Math.floor(NOW / 60_000) * 60_000;
    const refused = (key: string | null, reason: string, atMs: number, times = 1) =>
      audit('key_refused', { reason, key_id: key, times }, atMs);
    await store.addEvents([refused('k1', 'rate', minute), refused('k1', 'rate', minute + 1_000, 40)]);
    await store.addEvents([refused('k1', 'rate', minute + 59_999), refused('k2', 'rate', minute)]);
    await store.addEvents([refused('k1', 'expired', minute), refused('k1', 'rate', minute + 60_000)]);
    const events = await store.events({ fromSeq: 0, limit: 99 });
    expect(events.map(({ payload }) => [payload.key_id, payload.reason, payload.times])).toEqual([
      ['k1', 'rate', 42],
      ['k2', 'rate', 1],
      ['k1', 'expired', 1],
      ['k1', 'rate', 1],
    ]);
  });

  it('deletes ledger rows by age, equally for every project, and keeps the sums indefinitely', async () => {
    const days = place === 'a file' ? 30 : 180;
    const { store } = await open(place === 'a file' ? { ledgerTtlMs: days * DAY } : {});
    const at = (requestId: string, ago: number, project: string) =>
      aTurn(requestId, { atMs: NOW - ago * DAY, project, conversationId: project });
    const busy = Array.from({ length: 300 }, (_, i) => at(`b${i}`, i < 150 ? 0 : days + 1, 'busy'));
    const sum = { day: '1970-01-02', project: 'quiet', slice: 'all', key: '', field: 'requests', value: 1 } as const;
    await store.ledger.add([at('q1', days + 1, 'quiet'), at('q2', days - 1, 'quiet'), ...busy], [sum]);
    await swept(store);
    expect(await store.ledger.turns({ conversationId: 'busy', limit: 999 })).toHaveLength(150);
    const quiet = await store.ledger.turns({ conversationId: 'quiet', limit: 9 });
    expect(quiet.map(({ requestId }) => requestId)).toEqual(['q2']);
    expect(await store.ledger.sums({ sinceDay: '1970-01-01' })).toEqual([sum]);
  });

  it('forgets the state of a conversation 90 days after its last request', async () => {
    const { store } = await open();
    const state = (name: string, ago: number) => ({
      ...{ name, lineage: '', atMs: NOW - ago * DAY, version: 1, data: 'x' },
    });
    const query = { lineages: [], requestIds: [], process: { name: 'p', lineage: 'process', aliveFromMs: 0 } };
    const settled = { turns: [], sums: [], removed: [], waits: [], billed: [] };
    const states = [state('old', 91), state('young', 89)];
    await store.ledger.settle({ ...query, states: new Map() }, () => ({ ...settled, states }));
    await swept(store);
    const asked = new Map([
      ['old', 0],
      ['young', 0],
    ]);
    await store.ledger.settle({ ...query, states: asked }, (found) => {
      expect(found.states.map(({ name }) => name)).toEqual(['young']);
      return { ...settled, states: [] };
    });
  });

  it('keeps texts, bills and events of a project as configured, and those that another project needs', async () => {
    const ttlMs = 30 * DAY;
    const { store, clock } = await open({ ttlMs });
    const erasure = await store.erasure();
    const expire = async (of: object) => {
      while (await erasure.expire({ project: 'web', ...of }, ttlMs));
    };
    const keep = async (conversation: string, names: readonly string[], project = 'web') => {
      const decisions = names.map((name) => aPrune(name, `text of ${name}`));
      await store.commit({ decisions, touch: [], conversation }, 1_000);
      const segments = names.map((name) => aSegment(`${conversation} ${name}`, { pruneIds: [pruneIdOf(name)] }));
      await store.segments.note([aBatch(segments, { project, conversationId: conversation, atMs: clock.now })]);
    };
    await keep('old', ['a', 'b', 'shared']);
    await store.ledger.add([aTurn('old', { project: 'web', atMs: clock.now }), aTurn('api', { atMs: clock.now })], []);
    await store.addEvents([{ ...audit('erased', {}), project: 'web' }, audit('key_created', {})]);
    clock.now += 8 * DAY;
    await keep('other', ['shared'], 'api');
    await keep('young', ['b', 'c']);
    const ids = ['a', 'b', 'c', 'shared'].map(pruneIdOf);
    await expire({ textDays: 9 });
    expect(await store.knownPruneIds(ids)).toEqual(new Set(ids));
    await expire({ textDays: 7 });
    expect(await store.knownPruneIds(ids)).toEqual(new Set(['b', 'c', 'shared'].map(pruneIdOf)));
    expect((await store.segments.conversations('web')).map(({ name }) => name)).toEqual(['young']);
    expect(await store.segments.conversations('api')).toHaveLength(1);
    clock.now += 30 * DAY;
    await expire({ ledgerDays: 31, auditDays: 31 });
    const turns = await store.ledger.turns({ conversationId: 'c1', limit: 9 });
    expect(turns.map(({ requestId }) => requestId)).toEqual(['api']);
    expect((await store.events({ fromSeq: 0, limit: 9 })).map(({ kind }) => kind)).toEqual(['key_created']);
  });

  it('keeps the stashes of a step as long as a conversation with the same first words is kept', async () => {
    const ttlMs = 30 * DAY;
    const { store, clock } = await open({ ttlMs });
    const erasure = await store.erasure();
    const content = 'c'.repeat(32);
    const note = (conversationId: string) =>
      store.segments.note([aBatch([], { project: 'web', conversationId, atMs: clock.now })]);
    await note(`0123456789ab-${content}`);
    const step = { scope: 's1', conversation: content, messages: 5 };
    const stash = { segment: 'a', action: 'stash' as const, scope: 's1', upTo: 5 };
    await store.segments.change({ project: 'web', set: [stash], clear: [], step });
    clock.now += 8 * DAY;
    await note(`ba9876543210-${content}`);
    const left: number[] = [];
    for (const days of [7, 0]) {
      if (days === 0) clock.now += DAY;
      while (await erasure.expire({ project: 'web', textDays: days }, ttlMs));
      left.push((await store.segments.directives('web'))?.steps.length ?? -1);
    }
    expect(left).toEqual([1, 0]);
  });

  it('stores a text under a name and returns the previous one', async () => {
    const { store } = await open();
    expect([
      await store.replaceNote('n', 'a'),
      await store.replaceNote('n', 'b'),
      await store.replaceNote('m', 'c'),
    ]).toEqual([null, 'a', null]);
  });
});
