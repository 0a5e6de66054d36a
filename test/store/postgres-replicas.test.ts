import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from '@mcp-pruner/team/postgres/store.ts';
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import type { EventRecord } from '../../src/core/ports.ts';
import { StoreUnavailable } from '../../src/errors/errors.ts';
import { aPrune, hashOf, manualClock, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { faultyWay } from '../helpers/faulty-way.ts';
import { hasPostgres, runSql, sharedDatabase } from '../helpers/postgres.ts';
import { openRewriter } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const TTL_MS = 80_000;
const clock = manualClock();

async function replica(url: string, over: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const store = openPostgresStore({ url, clock, ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 100_000, ...over });
  afterwards(() => store.close());
  await store.ready();
  return store;
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `item ${i}`);

describe.skipIf(!hasPostgres)('replicas on one PostgreSQL', () => {
  const emptyDatabase = sharedDatabase();

  it('number events so that a reader neither skips nor repeats any while all replicas write', async () => {
    const url = await emptyDatabase();
    const writers = await Promise.all([replica(url), replica(url), replica(url)]);
    const reader = await replica(url);
    let writing = true;
    const seen: string[] = [];
    const reading = (async () => {
      for (let next = 1; ; ) {
        const wasWriting = writing;
        const page = await reader.events({ fromSeq: next, limit: 1_000 });
        expect(page.map(({ seq }) => seq)).toEqual(page.map((_, i) => next + i));
        seen.push(...page.map(({ payload }) => String(payload.n)));
        next += page.length;
        if (!wasWriting && page.length === 0) return;
      }
    })();
    /** Asks again for the lock that others kept for too long, as the queue of events does. */
    const add = async (writer: PostgresStore, events: readonly EventRecord[]): Promise<void> => {
      for (;;) {
        try {
          return await writer.addEvents(events);
        } catch (error) {
          if (!(error instanceof StoreUnavailable && error.reason === 'locked')) throw error;
        }
      }
    };
    const event = (n: string) =>
      ({ tsMs: 1, kind: 'k', level: 'info', runId: 'r', opId: null, payload: { n } }) as const;
    await Promise.all(
      writers.flatMap((writer, w) =>
        [0, 1, 2].map(async (chain) => {
          for (const name of names(10)) {
            await add(writer, [event(`${w} ${chain} ${name} a`), event(`${w} ${chain} ${name} b`)]);
          }
        }),
      ),
    );
    writing = false;
    await reading;
    expect(seen).toHaveLength(180);
    expect(new Set(seen).size).toBe(180);
  });

  it('replay the decision that was committed first, whichever replica made it', async () => {
    const url = await emptyDatabase();
    const replicas = await Promise.all([replica(url), replica(url), replica(url)]);
    const made = replicas.map((_, r) => names(20).map((name) => aPrune(name, `text of ${name}`, { goal: `by ${r}` })));
    const committed = await Promise.all(
      replicas.map((store, r) => {
        const decisions = r === 1 ? made[r]?.toReversed() : made[r];
        return store.commit({ decisions: decisions ?? [], touch: [] }, 5_000);
      }),
    );
    const keys = names(20).map((name) => hashOf(`key ${name}`));
    expect(committed.map(({ known }) => known.length).sort()).toEqual([0, 20, 20]);
    const found = await Promise.all(replicas.map((store) => store.findDecisions(keys)));
    expect(found[1]).toEqual(found[0]);
    expect(found[2]).toEqual(found[0]);
    const winner = committed.findIndex(({ known }) => known.length === 0);
    expect(new Set([...(found[0]?.values() ?? [])].map(({ goal }) => goal))).toEqual(new Set([`by ${winner}`]));
  });

  it('never show a prune id without an original, while others commit and delete', async () => {
    const url = await emptyDatabase();
    const [writer, sweeper, reader] = await Promise.all([
      replica(url),
      replica(url, { maxBytes: 20_000 }),
      replica(url),
    ]);
    const expired = manualClock(clock.now + 2 * TTL_MS);
    const late = await replica(url, { clock: expired });
    let busy = true;
    const reading = (async () => {
      while (busy) {
        const rows = await runSql<{ prune_id: string; data: Buffer | null }>(
          url,
          'SELECT p.prune_id, s.data FROM mcp_pruner.prune p LEFT JOIN mcp_pruner.snapshot s ON s.id = p.snapshot',
        );
        for (const { data } of rows) expect(data).not.toBeNull();
        const ids = rows.map(({ prune_id }) => prune_id).slice(0, 20);
        for (const id of ids) expect(await reader.findOriginal(id)).not.toBe('');
      }
    })();
    for (let round = 0; round < 15; round++) {
      // the same texts under other ids, so that letting go of one must not take the text of the other
      await Promise.all([
        writer.commit(
          { decisions: names(5).map((name) => aPrune(`${round} ${name}`, `text ${name}`)), touch: [] },
          5_000,
        ),
        sweeper.sweep(),
        late.sweep(),
      ]);
    }
    busy = false;
    await reading;
    await writer.commit({ decisions: [aPrune('last', 'text item 0')], touch: [] }, 5_000);
    expect(await reader.findOriginal(pruneIdOf('last'))).toBe('text item 0');
    const orphans = await runSql(
      url,
      'SELECT 1 FROM mcp_pruner.snapshot s WHERE NOT EXISTS (SELECT 1 FROM mcp_pruner.prune WHERE snapshot = s.id)',
    );
    expect(orphans).toEqual([]);
  });

  it('need two queries for a turn with new texts, and none for a known turn', async () => {
    const store = await replica(await emptyDatabase());
    const rewriter = openRewriter({ store, clock });
    const asked: string[] = [];
    const query = pg.Client.prototype.query;
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...args: unknown[]
    ) {
      const [sql] = args;
      // what runs by itself, once a second and when told; begin and commit go along with what stands between them
      if (typeof sql === 'string' && !/^BEGIN;|^COMMIT$|'deleted_generation'/.test(sql)) asked.push(sql);
      return Reflect.apply(query, this, args) as never;
    });
    afterwards(() => spy.mockRestore());
    const turn = async (body: Buffer): Promise<number> => {
      asked.length = 0;
      const { outcomes } = await rewriter.rewrite(body);
      expect(outcomes.some(({ pruneId }) => pruneId !== null)).toBe(true);
      return asked.length;
    };
    const body = chatBody(oneResult(serverLog(300, 1), { args: { command: 'job' } }));
    expect(await turn(body)).toBe(2); // what was sent and decided, commit
    expect(await turn(body)).toBe(0);
    const other = chatBody(oneResult(serverLog(300, 2), { args: { command: 'other job' } }));
    expect(await turn(other)).toBe(2);
  });

  it('send the same bytes', async () => {
    const url = await emptyDatabase();
    const rewriters = (await Promise.all([replica(url), replica(url)])).map((store) => openRewriter({ store, clock }));
    const body = chatBody(oneResult(serverLog(300, 3), { args: { command: 'job' } }));
    const bodies = await Promise.all([...rewriters, ...rewriters].map((rewriter) => rewriter.rewrite(body)));
    expect(new Set(bodies.map((rewritten) => rewritten.body.toString())).size).toBe(1);
    expect(bodies[0]?.body.equals(body)).toBe(false);
  });

  it('receive the served texts, refusals and directives of other replicas', async () => {
    const url = await emptyDatabase();
    const [one, two] = await Promise.all([replica(url), replica(url)]);
    const refused = vi.fn();
    two.onRefused(refused);
    const version = two.segments.directivesVersion();
    await one.markServed([hashOf('text')]);
    await one.markRefused(hashOf('prefix'));
    await one.segments.change({ project: 'p', set: [{ segment: 's', action: 'pin', scope: '', upTo: -1 }], clear: [] });
    await vi.waitFor(
      async () => {
        expect(await two.wasServed([hashOf('text')])).toEqual(new Set([hashOf('text')]));
        expect(refused).toHaveBeenCalled();
        expect(two.segments.directivesVersion()).not.toBe(version);
      },
      { timeout: 10_000 },
    );
    expect(await two.refusedConversations()).toEqual([hashOf('prefix')]);
  });

  it('work without notifications behind a pooler that does not pass them on', async () => {
    const url = await emptyDatabase();
    const way = await faultyWay(url);
    way.refuse('LISTEN');
    const [one, two] = await Promise.all([replica(url), replica(way.url)]);
    await one.markServed([hashOf('text')]);
    await vi.waitFor(async () => expect((await two.wasServed([hashOf('text')])).size).toBe(1), { timeout: 10_000 });
    expect(way.refused).toBeGreaterThan(0);
    await two.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    expect(await one.findOriginal(pruneIdOf('a'))).toBe('text');
  });

  it('run the upkeep on only one replica at a time', async () => {
    const url = await emptyDatabase();
    const store = await replica(url);
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    const other = await replica(url, { clock: manualClock(clock.now + 2 * TTL_MS) });
    const holder = await other.refresh().then(() => lockUpkeep(url));
    expect(await other.sweep()).toBe(false);
    expect(await store.stats()).toMatchObject({ prunes: 1 });
    await holder.release();
    while (await other.sweep());
    expect(await store.stats()).toEqual({ prunes: 0, snapshots: 0, bytes: 0 });
  });

  it('respect the size limit, delete the least recently used first, and refuse originals that arrive too fast', async () => {
    const url = await emptyDatabase();
    const time = manualClock();
    const store = await replica(url, { clock: time, maxBytes: 150_000 });
    const noise = (i: number) => Array.from({ length: 1_200 }, (_, n) => hashOf(`${i} ${n}`)).join('\n');
    for (let i = 0; i < 12; i++) {
      await store.commit({ decisions: [aPrune(`item ${i}`, noise(i))], touch: [] }, 2_000);
      time.now += 1;
    }
    time.now += TTL_MS / 2;
    await store.commit({ decisions: [], touch: [pruneIdOf('item 0')] }, 0);
    while (await store.sweep());
    expect((await store.stats()).bytes).toBeLessThanOrEqual(150_000);
    const known = await store.knownPruneIds(names(12).map(pruneIdOf));
    expect(known).toContain(pruneIdOf('item 0'));
    expect(known).toContain(pruneIdOf('item 11'));
    expect(known).not.toContain(pruneIdOf('item 1'));
    const flood = async () => {
      for (let i = 100; i < 140; i++) {
        await store.commit({ decisions: [aPrune(`item ${i}`, noise(i))], touch: [] }, 2_000);
        await store.sweep();
      }
    };
    await expect(flood()).rejects.toMatchObject({ reason: 'full' });
    expect(store.problem()).toMatchObject({ reason: 'full' });
  });

  it('create the schema of an empty database together, and refuse a newer schema with a one-line error', async () => {
    const url = await emptyDatabase();
    await runSql(url, 'DROP SCHEMA IF EXISTS mcp_pruner CASCADE');
    const stores = await Promise.all([replica(url), replica(url), replica(url), replica(url)]);
    expect(stores.map((store) => store.problem())).toEqual([null, null, null, null]);
    await stores[0]?.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    expect(await stores[3]?.findOriginal(pruneIdOf('a'))).toBe('text');
    const ids = new Set(await Promise.all(stores.map((store) => store.id())));
    expect([...ids]).toEqual([expect.stringMatching(/^[0-9a-z]{3,11}$/)]);

    await runSql(url, 'INSERT INTO mcp_pruner.schema_version VALUES (998, 1)');
    expect((await replica(url)).problem()).toBeNull(); // one that only added something: replicas are upgraded in turn
    await runSql(url, 'INSERT INTO mcp_pruner.schema_version VALUES (999, 999)');
    const older = await replica(url);
    expect(older.problem()).toMatchObject({ reason: 'newer_schema', message: expect.stringMatching(/999.*upgrade/) });
    await expect(older.findOriginal(pruneIdOf('a'))).rejects.toMatchObject({ reason: 'newer_schema' });
    await runSql(url, 'UPDATE mcp_pruner.schema_version SET version = 12, works_with = 3 WHERE version = 999');
    await runSql(url, 'DELETE FROM mcp_pruner.schema_version WHERE version > 12');
    expect((await replica(url)).problem()).toMatchObject({
      message: expect.stringMatching(/version 12 of a pre-release.*drop its schema/),
    });
    await runSql(url, 'DROP SCHEMA mcp_pruner CASCADE'); // the next test begins with an empty database
    await replica(url);
  });
});

describe.skipIf(!hasPostgres)('a store with an unavailable or restricted database', () => {
  const emptyDatabase = sharedDatabase();

  it('fails calls at once, leaves cached data usable, and recovers automatically', async () => {
    const way = await faultyWay(await emptyDatabase());
    const store = await replica(way.url, { patienceMs: 0 });
    const rewriter = openRewriter({ store, clock });
    const known = chatBody(oneResult(serverLog(300, 4), { args: { command: 'job' } }));
    const sent = (await rewriter.rewrite(known)).body;
    const epoch = store.epoch();

    way.cut();
    await expect(store.findOriginal(pruneIdOf('a'))).rejects.toMatchObject({ name: 'StoreUnavailable' });
    for (let i = 0; i < 20; i++) {
      await expect(store.findOriginal(pruneIdOf('a'))).rejects.toMatchObject({ reason: 'unreachable' });
    }
    expect(store.problem()).toMatchObject({ reason: 'unreachable' });
    expect(store.failingSinceMs()).toBe(clock.now);
    expect(store.epoch()).toBe(epoch);
    expect((await rewriter.rewrite(known)).body.equals(sent)).toBe(true);

    way.mend();
    await vi.waitFor(() => expect(store.problem()).toBeNull(), { timeout: 15_000 });
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    expect(store.epoch()).not.toBe(epoch); // what was remembered is asked for once
    expect((await rewriter.rewrite(known)).body.equals(sent)).toBe(true);
  });

  it('waits for the database during a short outage: nothing is lost, written twice or sent differently', async () => {
    const url = await emptyDatabase();
    const way = await faultyWay(url);
    const store = await replica(way.url, { patienceMs: 10_000 });
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    way.cut();
    const event = { tsMs: 1, kind: 'k', level: 'info', runId: 'r', opId: null, payload: {} } as const;
    const waiting = [
      store.findOriginal(pruneIdOf('a')),
      store.commit({ decisions: [aPrune('b', 'more')], touch: [] }, 2_000),
      store.addEvents([event]),
    ];
    await expect(Promise.race([...waiting, sleep(50, 'none yet')])).resolves.toBe('none yet');
    way.mend();
    const [original, committed] = await Promise.all(waiting);
    expect(original).toBe('text');
    expect(committed).toEqual({ missing: [], refused: [], known: [] });
    expect(await store.findOriginal(pruneIdOf('b'))).toBe('more');
    expect(await store.events({ fromSeq: 0, limit: 10 })).toHaveLength(1);
    expect(store.problem()).toBeNull();
  });

  it('also waits for the database at the start', async () => {
    const way = await faultyWay(await emptyDatabase());
    way.cut();
    const opening = replica(way.url, { patienceMs: 10_000 });
    await expect(Promise.race([opening, sleep(150, 'not yet')])).resolves.toBe('not yet');
    way.mend();
    expect((await opening).epoch()).toBeTypeOf('string');
  });

  it('cancels a statement within the time limit of the request, and never executes it later', async () => {
    const url = await emptyDatabase();
    const store = await replica(url);
    const holder = await session(url);
    await holder.query('BEGIN; LOCK TABLE mcp_pruner.prune IN ACCESS EXCLUSIVE MODE');
    const late = store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 100);
    await expect(late).rejects.toMatchObject({ reason: 'locked' });
    const slow = store.findOriginal(pruneIdOf('a'));
    await expect(slow).rejects.toMatchObject({ reason: 'locked' });
    const left = await runSql(
      url,
      "SELECT 1 FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%prune%' AND wait_event_type = 'Lock' AND datname = current_database()",
    );
    expect(left).toEqual([]); // the server itself has given up
    await holder.query('COMMIT');
    await holder.end();
    expect(await store.findOriginal(pruneIdOf('a'))).toBeNull();
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    expect(store.problem()).toBeNull();
  });

  it('uses its existing connections if the database refuses more', async () => {
    const url = await emptyDatabase();
    const role = `few_${new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/')).pathname.slice(1)}`;
    const owner = await session(url);
    await owner.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 3; GRANT pruner TO ${role}`);
    afterwards(async () => {
      await owner.query(`DROP ROLE ${role}`);
      await owner.end();
    });
    const store = await replica(url.replace('pruner@', `${role}@`));
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    const texts = await Promise.all(names(16).map(() => store.findOriginal(pruneIdOf('a'))));
    expect(new Set(texts)).toEqual(new Set(['text']));
    expect(store.problem()).toBeNull();
    // one more, as soon as there is one
    await owner.query(`ALTER ROLE ${role} CONNECTION LIMIT 1`);
    await owner.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
    await expect(store.findOriginal(pruneIdOf('a')).then((text) => text ?? 'none')).resolves.toBe('text');
  });

  it('can be opened before the database is reachable', async () => {
    const way = await faultyWay(await emptyDatabase());
    way.cut();
    const store = await replica(way.url, { patienceMs: 0 });
    expect(store.problem()).toMatchObject({ reason: 'unreachable' });
    expect(() => store.epoch()).toThrow(expect.objectContaining({ reason: 'unreachable' }));
    way.mend();
    await vi.waitFor(() => expect(store.epoch()).toBeTypeOf('string'), { timeout: 15_000 });
    expect(store.problem()).toBeNull();
  });

  it('drops broken connections, and continues with new ones', async () => {
    const url = await emptyDatabase();
    const store = await replica(url);
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    await runSql(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await vi.waitFor(async () => expect(await store.findOriginal(pruneIdOf('a'))).toBe('text'), { timeout: 15_000 });
  });

  it('stays readable if the database is read-only', async () => {
    const url = await emptyDatabase();
    const store = await replica(url);
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 2_000);
    const database = new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/')).pathname.slice(1);
    await runSql(url, `ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    afterwards(() => runSql(url, `BEGIN READ WRITE; ALTER DATABASE ${database} RESET ALL; COMMIT`));
    const other = await replica(url);
    await expect(other.commit({ decisions: [aPrune('b', 'more')], touch: [] }, 2_000)).rejects.toMatchObject({
      reason: 'readonly',
    });
    expect(other.problem()).toMatchObject({ reason: 'readonly' });
    expect(await other.findOriginal(pruneIdOf('a'))).toBe('text');
  });
});

/** A connection of an outsider. */
async function session(url: string): Promise<pg.Client> {
  const parsed = new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/'));
  const client = new pg.Client({
    host: parsed.searchParams.get('host') ?? '',
    user: 'pruner',
    database: parsed.pathname.slice(1),
  });
  await client.connect();
  return client;
}

/** Holds the lock of the upkeep as another replica would. */
async function lockUpkeep(url: string): Promise<{ release(): Promise<void> }> {
  const client = await session(url);
  await client.query('BEGIN; SELECT pg_advisory_xact_lock(1835233397)');
  await sleep(0);
  return {
    async release() {
      await client.query('COMMIT');
      await client.end();
    },
  };
}
