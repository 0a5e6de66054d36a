import { FleetStore } from '@mcp-pruner/fleet/tables/fleet-store.ts';
import { textHash } from 'mcp-pruner/core/hash.ts';
import { edition } from 'mcp-pruner/edition.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { movedWith, type Side } from 'mcp-pruner/store/move/tables.ts';
import { sqliteDriver } from 'mcp-pruner/store/sqlite/driver.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { aChild, aCommit, aPlan, aWrite } from '../../../test/contract/fleet-store.suite.ts';
import { aBatch, aSegment } from '../../../test/contract/segments.suite.ts';
import { aPrune, aWhole, manualClock, pruneIdOf } from '../../../test/contract/store.suite.ts';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { hasPostgres, runSql, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { openStore, sweepAll, TTL_MS, tempPath } from '../../../test/store/helpers.ts';
import { moveStore } from '../src/operate/move.ts';
import { openSqliteSide } from '../src/operate/sqlite-side.ts';
import { openPostgresSide } from '../src/postgres/move-side.ts';
import { openPostgresStore } from '../src/postgres/store.ts';

const Database = sqliteDriver();

const clock = manualClock();
const parts = edition.tables;
const movedTables = movedWith(parts);
const text = (name: string) => `text of ${name} with NUL \0 and \ud800\n`.repeat(100);
const NAMES = ['a', 'b', 'c'];

/** Everything that a store can hold, with what is awkward in it. */
async function fill(store: StoreHandle): Promise<void> {
  const decisions = [...NAMES.map((name) => aPrune(name, text(name))), aWhole('w', 'whole')].map(
    ({ decision, text }) => ({
      decision: { ...decision, textHash: textHash(text) },
      text,
    }),
  );
  await store.commit({ decisions, touch: [], conversation: 'conv' }, 5_000);
  await store.markServed(['served']);
  await store.markRefused('refused');
  const event = { tsMs: 1, kind: 'k', level: 'info', runId: 'r \0', opId: null, payload: { n: 1 } } as const;
  await store.addEvents([event, event, event]);
  const sum = { day: '1970-01-01', project: '', slice: 'wire', key: 'w \0', field: 'requests', value: 1 } as const;
  await store.ledger.add([], [sum, { ...sum, slice: 'use', key: 'm\tt' }]);
  await store.records.addChildLogs([
    { tsMs: 1, childId: 'c', runId: null, stream: 'stdout', message: 'm \0', parsed: null },
  ]);
  await store.records.keepReply('tool', 'key', 'hash', 'answer \0', TTL_MS);
  await store.segments.note([aBatch([aSegment('s1', { pruneIds: [pruneIdOf('a')] }), aSegment('s2')])]);
  await store.segments.change({
    project: 'p',
    set: [{ segment: 's1', action: 'pin', scope: '', upTo: -1 }],
    clear: [],
  });
  await fillFleet(new FleetStore(store.sql));
  await sweepAll(store);
}

const A_CONTRACT = {
  callId: 'call',
  taskId: 'task',
  status: 'awarded',
  announcedMs: 1,
  deadlineMs: null,
  completedMs: null,
  agentId: 'agent',
  body: { bids: 1 },
} as const;

async function fillFleet({ graphs, board, field, children, contracts, plans }: FleetStore): Promise<void> {
  await graphs.commit(aCommit({ graphId: 'g', events: () => [] }));
  await graphs.commit(
    aCommit({ events: () => [], graphId: 'g', baseVersion: 1, text: 'second '.repeat(1_000), note: 'why \0' }),
  );
  await graphs.lock({ graphId: 'g', holder: 'me', ttlMs: null, newId: 'lock' }, () => []);
  await board.set([aWrite('a', { n: '\0' }, { tags: ['x', 'y'] }), aWrite('b')], () => []);
  await board.delete('b', () => []);
  await field.mark([{ nodeId: 'n', type: 't', intensity: 1.5 }], () => []);
  await children.insert({ record: aChild('child'), spec: { command: 'c' } }, 10);
  await contracts.announce(() => ({ record: A_CONTRACT, events: [] }));
  await plans.begin(aPlan('run'), []);
}

async function seenOfFleet({ graphs, board, field, children, contracts, plans }: FleetStore): Promise<unknown> {
  return {
    head: await graphs.head('g'),
    texts: [await graphs.version('g', 1), await graphs.version('g', 2)],
    snapshots: await graphs.snapshots({ prefix: '', limit: 10 }),
    lock: await graphs.activeLock('g'),
    entries: await board.query({ tags: ['x'], namespace: null, before: null, limit: 10 }),
    changes: await board.changes({ after: 0, namespace: null, limit: 10 }),
    version: await board.lastVersion(),
    points: (await field.points()).points,
    children: [await children.list({ limit: 10 }), await children.spec('child')],
    contract: await contracts.get(A_CONTRACT.callId),
    plans: await plans.open(),
  };
}

/** What a reader finds in a store. */
async function seen(store: StoreHandle): Promise<unknown> {
  const [conversation] = await store.segments.conversations('p');
  if (!conversation) throw new Error('no conversation');
  return {
    originals: await Promise.all(NAMES.map((name) => store.findOriginal(pruneIdOf(name)))),
    prunes: await Promise.all(NAMES.map((name) => store.findPrune(pruneIdOf(name)))),
    stats: await store.stats(),
    refused: await store.refusedConversations(),
    events: await store.events({ fromSeq: 0, limit: 10 }),
    sums: await store.ledger.sums({ sinceDay: '1970-01-01' }),
    logs: await store.records.childLogs({ childId: 'c', fromSeq: 0, limit: 10 }),
    reply: await store.records.claimReply('tool', 'key', 'hash', 1),
    segments: await store.segments.segments(conversation, { limit: 10 }),
    directives: (await store.segments.directives('p'))?.directives,
    fleet: await seenOfFleet(new FleetStore(store.sql)),
  };
}

const ignore = () => undefined;

describe.skipIf(!hasPostgres)('moving a store', () => {
  const emptyDatabase = sharedDatabase();

  it('moves everything to PostgreSQL and back, and continues from there', async () => {
    const [first, last] = [tempPath(), tempPath()];
    const source = openStore(first, { clock });
    await fill(source);
    const all = await seen(source);
    await source.close();
    const url = await emptyDatabase();
    const said = await cli(['store', 'move', '--from', `sqlite:${first}`, '--to', url]);
    expect(said).toMatch(/^moved \d+ rows; both stores are equal, and the hashes of 3 originals are correct\n$/);
    expect(said).not.toContain(url);

    const moved = openPostgresStore({ url, clock, parts, ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 100 });
    afterwards(() => moved.close());
    await moved.ready();
    expect(await seen(moved)).toEqual(all);
    expect((await moved.wasServed(['served'])).size).toBe(1);
    await moved.close();

    expect(await cli(['store', 'move', '--from', url, '--to', `sqlite:${last}`])).toContain('moved');
    const back = openStore(last, { clock });
    expect(await seen(back)).toEqual(all);
    await back.addEvents([{ tsMs: 1, kind: 'k', level: 'info', runId: 'next', opId: null, payload: {} }]);
    expect((await back.events({ runId: 'next', fromSeq: 0, limit: 1 }))[0]?.seq).toBe(4);
    await back.commit({ decisions: [aPrune('new', 'new text')], touch: [] }, 1_000);
    expect(await back.findOriginal(pruneIdOf('new'))).toBe('new text');
  });

  it('continues numbering after the old numbers', async () => {
    const [path, url] = [tempPath(), await emptyDatabase()];
    const source = openStore(path, { clock });
    await fill(source);
    await source.close();
    await move(openSqliteSide(path, true, parts), await openPostgresSide(url, false, clock, parts));
    const moved = openPostgresStore({ url, clock, parts, ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 100 });
    afterwards(() => moved.close());
    await moved.ready();
    await moved.commit({ decisions: [aPrune('new', 'new text')], touch: [] }, 5_000);
    await moved.addEvents([{ tsMs: 1, kind: 'k', level: 'info', runId: 'next', opId: null, payload: {} }]);
    expect((await moved.events({ runId: 'next', fromSeq: 0, limit: 1 }))[0]?.seq).toBe(4);
    expect(await moved.findOriginal(pruneIdOf('new'))).toBe('new text');
    await moved.segments.note([aBatch([aSegment('s3')], { conversationId: 'other' })]);
    expect(await moved.segments.conversations('p')).toHaveLength(2);
  });

  it('can be repeated after an interruption, and refuses a target with other data', async () => {
    const [path, url] = [tempPath(), await emptyDatabase()];
    const source = openStore(path, { clock });
    await fill(source);
    await source.close();
    const to = await openPostgresSide(url, false, clock, parts);
    let added = 0;
    const breaking: Side = {
      ...to,
      add: (table, rows) => {
        if (++added === 4) return Promise.reject(new Error('interrupted'));
        return to.add(table, rows);
      },
    };
    const from = openSqliteSide(path, true, parts);
    afterwards(() => from.close());
    await expect(moveStore(from, breaking, movedTables, textHash, ignore)).rejects.toThrow('interrupted');
    expect((await moveStore(from, to, movedTables, textHash, ignore)).originals).toBe(3);
    await to.close();

    const other = tempPath();
    await openStore(other, { clock }).commit({ decisions: [aPrune('x', 'x')], touch: [] }, 0);
    await expect(
      move(openSqliteSide(other, true, parts), await openPostgresSide(url, false, clock, parts)),
    ).rejects.toThrow('filled from another store');
    await expect(move(openSqliteSide(path, true, parts), openSqliteSide(other, false, parts))).rejects.toThrow(
      'not empty',
    );
  });

  it('detects a row that differs, and a text with an incorrect hash', async () => {
    const [path, url] = [tempPath(), await emptyDatabase()];
    const source = openStore(path, { clock });
    await fill(source);
    await source.close();
    const [from, to] = [openSqliteSide(path, true, parts), await openPostgresSide(url, false, clock, parts)];
    afterwards(() => Promise.all([from.close(), to.close()]));
    await moveStore(from, to, movedTables, textHash, ignore);
    await runSql(url, "UPDATE mcp_pruner.ledger_sum SET value = value + 6 WHERE slice = 'wire'");
    await expect(moveStore(from, to, movedTables, textHash, ignore)).rejects.toThrow(
      /ledger_sum: rows from number \d+ on are not equal/,
    );
    await runSql(url, "UPDATE mcp_pruner.ledger_sum SET value = value - 6 WHERE slice = 'wire'");
    await expect(moveStore(from, to, movedTables, () => 'another', ignore)).rejects.toThrow(/does not match its hash/);
  });

  it('includes every table of both stores', async () => {
    const path = tempPath();
    await openStore(path, { clock }).ready();
    const db = new Database(path, { readonly: true });
    afterwards(() => db.close());
    const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
    const counted =
      /^(?:sqlite_.*|meter|content|conversation_bytes|directive_generation|recall_filter|fleet_counter|key_change|fleet_instance|recall_(?:word|name|term).*)$/;
    expect(names.filter((name) => !counted.test(name)).sort()).toEqual(movedTables.map(({ name }) => name).sort());
    for (const { name, columns } of movedTables) {
      const known = db.prepare(`SELECT name FROM pragma_table_info('${name}')`).pluck().all() as string[];
      const own = name === 'recall' ? known.filter((column) => !column.startsWith('index')) : known; // it is made anew
      expect(columns.map((column) => (name === 'snapshot' && column === 'data' ? 'content' : column)).sort()).toEqual(
        own.sort(),
      );
    }
  });
});

async function cli(args: readonly string[]): Promise<string> {
  const { code, out, err } = await run(args, { clock });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

async function move(from: Side, to: Side): Promise<void> {
  try {
    await moveStore(from, to, movedTables, textHash, ignore);
  } finally {
    await from.close();
    await to.close();
  }
}
