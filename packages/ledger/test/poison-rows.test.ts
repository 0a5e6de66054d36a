import { LimitWatch } from '@mcp-pruner/limits/watch.ts';
import { Prices } from '@mcp-pruner/money/prices.ts';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { WriteBehind } from 'mcp-pruner/base/write-behind.ts';
import { EventLog } from 'mcp-pruner/core/event-log.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore, LedgerSum, SettleQuery, SettleWork } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { EventRecord } from 'mcp-pruner/core/ports.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import { factsOfUnread } from 'mcp-pruner/proxy/report/ledger-facts.ts';
import type { StoreHandle, StoreOptions } from 'mcp-pruner/store/handle.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { hasPostgres, newDatabase } from '../../../test/helpers/postgres.ts';
import { tempPath } from '../../../test/store/helpers.ts';
import { Ledger } from '../src/ledger.ts';
import { encodeFacts } from '../src/settlement.ts';

const DAY = '2026-11-23';
const NOW = Date.parse(DAY);
const COUNT = 200;

const open: [string, (options: StoreOptions) => Promise<StoreHandle>, boolean][] = [
  ['a file', async (options) => openSqliteStore({ path: tempPath(), ...options }), true],
  ['a database', async (options) => openPostgresStore({ url: await newDatabase(), ...options }), hasPostgres],
];

/** A request that used some tokens. */
function requestOf(n: number, input: number) {
  const about = { requestId: `r${n}`, project: 'p', wire: 'chat', model: 'm' };
  const usage = { input, output: 1, read: 0, written: 0, written1h: 0 };
  return { ...factsOfUnread(about, 400), atMs: NOW + n, usage };
}

function eventOf(n: number, tsMs = NOW): EventRecord {
  return { tsMs, runId: `r${n}`, opId: null, kind: 'request', level: 'info', payload: {} };
}

/** A figure that the store refuses. */
const REFUSED = 'refused';

function refusing(store: LedgerStore, outage: { readonly now: boolean }): LedgerStore {
  const check = (sums: readonly LedgerSum[]): void => {
    if (sums.some(({ field }) => field === REFUSED)) throw new StoreUnavailable('unwritable');
  };
  return Object.assign(Object.create(store) as LedgerStore, {
    settle: async (query: SettleQuery, work: SettleWork) => {
      if (outage.now) throw new StoreUnavailable('locked');
      return store.settle(query, (settling) => {
        const settled = work(settling);
        check(settled.sums);
        return settled;
      });
    },
    async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]) {
      check(sums);
      return store.add(turns, sums);
    },
  });
}

describe.each(open.filter(([, , isHere]) => isHere))('a ledger in %s', (_place, openStore) => {
  async function openLedger() {
    const clock = { nowMs: () => NOW };
    const store = await openStore({ clock, ttlMs: 1e12, maxBytes: 1e9, maxEvents: 999, parts: edition.tables });
    afterwards(() => store.close());
    await store.ready();
    const failures: (readonly [string, unknown])[] = [];
    const onFailure = (reason: string, _cause: unknown, about?: object): void => void failures.push([reason, about]);
    const outage = { now: false };
    const ledger = new Ledger({ store: refusing(store.ledger, outage), prices: new Prices([]), clock, onFailure });
    const totals = async (): Promise<Record<string, number>> => {
      const sums = await store.ledger.totals({ sinceDay: DAY });
      return Object.fromEntries(sums.filter(({ day, slice }) => day && slice === 'all').map((s) => [s.field, s.value]));
    };
    return { store, ledger, failures, onFailure, totals, outage, clock };
  }

  it.each([[[77]], [[0, 199]], [[3, 4, 5, 150]]])(
    'drops and reports only the requests that cannot be written: %j',
    async (poison) => {
      const { store, ledger, failures, totals } = await openLedger();
      for (let n = 0; n < COUNT; n++) ledger.request(requestOf(n, poison.includes(n) ? 1e300 : 100));
      await ledger.flush();
      expect(await totals()).toMatchObject({ requests: COUNT - poison.length });
      expect(failures).toEqual(poison.map(() => ['ledger_row_dropped', { requests: 1 }]));
      expect([ledger.queued, ledger.dropped]).toEqual([0, poison.length]);
      expect([store.problem(), store.failingSinceMs()]).toEqual([null, null]);
      ledger.request(requestOf(COUNT, 100));
      await ledger.flush();
      expect(await totals()).toMatchObject({ requests: COUNT + 1 - poison.length });
    },
  );

  it('drops a figure that cannot be written, and keeps all others', async () => {
    const { ledger, failures, totals, store } = await openLedger();
    const count = (field: string, value: number): void =>
      ledger.count([{ day: DAY, project: 'p', slice: 'all', key: '', fields: { [field]: value } }]);
    count('removed', 5);
    count(REFUSED, 1);
    ledger.request(requestOf(1, 100));
    await ledger.flush();
    expect(await totals()).toMatchObject({ requests: 1, removed: 5 });
    expect(failures).toEqual([['ledger_row_dropped', { requests: 0 }]]);
    expect(store.problem()).toBeNull();
  });

  it.each([
    ['cannot be written', encodeFacts(requestOf(77, 1e300))],
    ['cannot be read', '{'],
  ])('drops a request that another process left to wait and that %s', async (_how, data) => {
    const { store, ledger, failures, totals } = await openLedger();
    const waits = Array.from({ length: 100 }, (_, n) => ({
      ...{ requestId: `r${n}`, sinceMs: NOW - 9_999, names: [], lineage: '' },
      data: n === 77 ? data : encodeFacts(requestOf(n, 100)),
    }));
    const process = { name: '', lineage: '', aliveFromMs: NOW };
    const nothing = { turns: [], sums: [], states: [], removed: [], billed: [] };
    await store.ledger.settle({ states: new Map(), lineages: [], requestIds: [], process }, () => ({
      ...{ ...nothing, waits },
    }));
    for (let n = 100; n < 110; n++) ledger.request(requestOf(n, 100));
    await ledger.flush();
    expect(await totals()).toMatchObject({ requests: 109 });
    expect(failures).toEqual([['ledger_row_dropped', { requests: 1 }]]);
    await ledger.flush();
    expect([ledger.queued, ledger.dropped]).toEqual([0, 1]);
    expect(failures).toHaveLength(1);
    expect(await store.sql.all('SELECT request_id FROM main.ledger_waiting')).toEqual([]);
  });

  it('keeps figures that are committed together with an event that cannot be written', async () => {
    const { store, totals } = await openLedger();
    const sum = { day: DAY, project: 'p', slice: 'all', key: '', field: 'requests', value: 1 } as const;
    const [figures, events] = await Promise.allSettled([
      store.ledger.add([], [sum]),
      store.addEvents([eventOf(1, 1e300)]),
    ]);
    expect([figures.status, events.status]).toEqual(['fulfilled', 'rejected']);
    expect(await totals()).toEqual({ requests: 1 });
  });

  it('has beside it a log of events that loses only the event that cannot be written', async () => {
    const { store, failures, onFailure } = await openLedger();
    const events = new EventLog({ store, maxEvents: 999, onFailure });
    events.add(Array.from({ length: COUNT }, (_, n) => eventOf(n, n === 77 ? 1e300 : NOW)));
    await events.flush();
    expect(failures).toEqual([['event_dropped', { events: 1 }]]);
    const rows = await store.sql.all<{ count: number }>('SELECT count(*) AS count FROM main.event');
    expect(rows.map(({ count }) => Number(count))).toEqual([COUNT - 1]);
    expect(store.problem()).toBeNull();
  });

  it('has beside it limits that lose only the reading that cannot be written', async () => {
    const { store, failures, onFailure, clock } = await openLedger();
    const salt = (): Promise<string | null> => store.id();
    const watch = new LimitWatch({ sql: store.sql, salt, clock, behind: new WriteBehind(), onFailure });
    for (let n = 0; n < COUNT; n++) {
      const resetsS = NOW / 1000 + 3_600;
      const fields = { '5h-utilization': '0.1', '5h-reset': `${resetsS}`, '5h-status': 'allowed' };
      const weight = n === 77 ? 1e300 : 100;
      const usage = { promptTokens: weight, completionTokens: 0, cachedTokens: 0 };
      watch.ended({
        ...{ requestId: `r${n}`, project: 'p', session: 's', client: '', caller: 'a', accountId: '' },
        ...{ conversationId: 'c', model: 'm', status: 200, usage, isAnswer: true, hourCache: false },
        ...{ startedMs: NOW + n, endedMs: NOW + n, limitEvents: [] },
        fields: Object.entries(fields).flatMap(([name, value]) => [`anthropic-ratelimit-unified-${name}`, value]),
      });
    }
    await watch.flush();
    expect(failures).toEqual([['limits_row_dropped', { requests: 1 }]]);
    const rows = await store.sql.all<{ request: string }>('SELECT request FROM main.limit_reading ORDER BY id');
    expect(rows.map(({ request }) => request)).toEqual(
      Array.from({ length: COUNT }, (_, n) => `r${n}`).filter((name) => name !== 'r77'),
    );
    expect(store.problem()).toBeNull();
  });

  it('bills all requests of an outage, those beyond 5,000 without their details', async () => {
    const { ledger, failures, totals, outage } = await openLedger();
    outage.now = true;
    for (let n = 0; n < 5_010; n++) ledger.request(requestOf(n, 100));
    await ledger.flush();
    expect(await totals()).toEqual({});
    outage.now = false;
    await ledger.flush();
    expect(await totals()).toMatchObject({ requests: 5_010 });
    expect(failures).toEqual([
      ['ledger_not_written', { requests: 5_010 }],
      ['ledger_not_written', { requests: 10 }],
    ]);
  });
});

it('a closed ledger plans no more attempts for requests that it could not write', async () => {
  let planned = 0;
  class Planned extends WriteBehind {
    override wake(): void {
      planned++;
    }
  }
  const closed: Partial<LedgerStore> = { settle: () => Promise.reject(new StoreUnavailable('closed')) };
  const store = closed as LedgerStore;
  const clock = { nowMs: () => NOW };
  const ledger = new Ledger({ store, prices: new Prices([]), clock, onFailure: () => {}, behind: new Planned() });
  ledger.request(requestOf(1, 100));
  await ledger.flush();
  expect(planned).toBeGreaterThan(1);
  await ledger.close();
  const before = planned;
  await ledger.flush(); // by the timer of an attempt that was planned before
  expect([planned - before, ledger.queued]).toEqual([0, 1]);
});
