import { openPostgresStore, type PostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { describe, expect, it } from 'vitest';
import {
  aCommit,
  anEvent,
  aWrite,
  type FleetBench,
  fleetStoreSuite,
} from '../../../test/contract/fleet-store.suite.ts';
import { manualClock } from '../../../test/contract/store.suite.ts';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { hasPostgres, newDatabase, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { FleetStore } from '../src/tables/fleet-store.ts';

async function openAt(url: string, clock = manualClock()): Promise<PostgresStore> {
  const store = openPostgresStore({
    url,
    clock,
    parts: edition.tables,
    ttlMs: 80_000,
    maxBytes: 1e9,
    maxEvents: 20_000,
  });
  afterwards(() => store.close());
  await store.ready();
  return store;
}

describe.skipIf(!hasPostgres)('the fleet store on PostgreSQL', () => {
  const emptyDatabase = sharedDatabase();

  const open = async (): Promise<FleetBench> => {
    const clock = manualClock();
    const store = await openAt(await emptyDatabase(), clock);
    return {
      store: new FleetStore(store.sql),
      clock,
      events: () => store.events({ fromSeq: 0, limit: 10_000 }),
      logs: (childId) => store.records.childLogs({ childId, fromSeq: 0, limit: 100 }),
    };
  };
  fleetStoreSuite('PostgreSQL', open, { filled: false });

  it('adds its tables to a database that was created without the fleet', async () => {
    const url = await newDatabase();
    const options = { url, clock: manualClock(), ttlMs: 80_000, maxBytes: 1e9, maxEvents: 10 };
    const before = openPostgresStore(options);
    await before.ready();
    await before.close();
    const store = openPostgresStore({ ...options, parts: edition.tables });
    afterwards(() => store.close());
    await store.ready();
    expect(await new FleetStore(store.sql).graphs.version('unknown', 1)).toBeNull();
  });

  describe('a fleet on two replicas', () => {
    it('delivers each blackboard change to a watcher once and in order while both replicas write', async () => {
      const url = await emptyDatabase();
      const [one, other] = await Promise.all([openAt(url), openAt(url)]);
      const [writer, second, reader] = [new FleetStore(one.sql), new FleetStore(other.sql), new FleetStore(other.sql)];
      const writes = [writer, second].flatMap(({ board }, w) =>
        Array.from({ length: 15 }, (_, i) =>
          board.set([aWrite(`k${i % 4}`, w), aWrite(`w${w}-${i}`)], () => [anEvent('bb')]),
        ),
      );
      let writing = true;
      const done = Promise.all(writes).finally(() => {
        writing = false;
      });
      const seen: number[] = [];
      for (let last = false; !last; ) {
        last = !writing;
        const { events } = await reader.board.changes({ after: seen.at(-1) ?? 0, namespace: null, limit: 7 });
        seen.push(...events.map(({ version }) => version));
        if (events.length > 0) last = false;
      }
      await done;
      expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
      expect(await one.events({ fromSeq: 0, limit: 100 })).toHaveLength(60);
    });

    it('gives a lock to only one of several callers, and a version to only one of several commits', async () => {
      const url = await emptyDatabase();
      const stores = await Promise.all([openAt(url), openAt(url)]);
      const fleets = await Promise.all(stores.map((store) => new FleetStore(store.sql)));
      const asked = Array.from({ length: 10 }, (_, i) => ({
        graphId: 'g',
        holder: `h${i}`,
        ttlMs: null,
        newId: `l${i}`,
      }));
      const locks = await Promise.all(asked.map((ask, i) => fleets[i % 2]?.graphs.lock(ask, () => [])));
      expect(new Set(locks.map((lock) => lock?.holder)).size).toBe(1);
      await fleets[0]?.graphs.unlock(locks[0]?.lockId ?? '', () => []);
      const commits = await Promise.all(Array.from({ length: 6 }, (_, i) => fleets[i % 2]?.graphs.commit(aCommit())));
      expect(commits.filter((outcome) => outcome?.kind === 'committed')).toHaveLength(1);
      expect(commits.filter((outcome) => outcome?.kind === 'conflict')).toHaveLength(5);
      expect((await fleets[1]?.graphs.head('g'))?.version).toBe(1);
    });
  });
});
