import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { change } from '../../src/store/sql/steps.ts';
import { Checkpointer } from '../../src/store/sqlite/connection-holder.ts';
import { driverFile, sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { aPrune, aWhole, manualClock, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards, openStore, sweepAll, TTL_MS, tempPath } from './helpers.ts';

const Database = sqliteDriver();

/** Another process with the file's write lock; `release` ends it. */
async function lockedByAnotherProcess(path: string): Promise<{ release(): Promise<void> }> {
  const program = `
    const db = new (require(process.argv[2]))(process.argv[1]);
    db.exec('BEGIN EXCLUSIVE');
    console.log('locked');
    process.stdin.on('end', () => process.exit(0)).resume();
  `;
  const child = spawn(process.execPath, ['-e', program, path, driverFile()], { stdio: ['pipe', 'pipe', 'inherit'] });
  afterwards(() => child.kill('SIGKILL'));
  await once(createInterface(child.stdout), 'line');
  return {
    async release() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

/** A connection of this process that lets nobody else in, readers included. */
function lockOutEverybody(path: string): SqliteDatabase.Database {
  const db = new Database(path, { timeout: 0 });
  afterwards(() => db.close());
  db.pragma('locking_mode = EXCLUSIVE');
  db.exec('BEGIN EXCLUSIVE');
  return db;
}

describe('a store that is opened while another process creates its file', () => {
  it('becomes ready once the file is ready, without an error about the lock', async () => {
    const path = tempPath();
    const maker = lockOutEverybody(path);
    const logged: string[] = [];
    const log = (_: object, says: string) => void logged.push(says);
    const store = openStore(path, { log: { info: log, warn: log } });
    let isReady = false;
    const ready = store.ready().then(() => {
      isReady = true;
    });
    expect(store.problem()).toMatchObject({ reason: 'locked' });
    await new Promise((resolve) => setTimeout(resolve, 300)); // longer than a read waits
    expect(isReady).toBe(false);
    maker.close();
    await ready;
    expect(store.problem()).toBeNull();
    expect(logged).toEqual([]);
  });
});

describe('a store whose file is locked by another process', () => {
  it('gives up a commit in time without blocking the event loop, still reads, and works after the release', async () => {
    const path = tempPath();
    const store = openStore(path);
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
    const lock = await lockedByAnotherProcess(path);

    let ticks = 0;
    const ticking = setInterval(() => ticks++, 5);
    afterwards(() => clearInterval(ticking));
    const start = performance.now();
    const commit = async (name: string, waitMs: number) =>
      store.commit({ decisions: [aPrune(name, `more ${name}`)], touch: [] }, waitMs);
    const [hasty, patient] = [commit('b', 200), commit('c', 5_000)];
    const ends = [hasty, patient].map((write, i) => write.catch(() => i));
    expect(await Promise.race(ends)).toBe(0);
    await expect(hasty).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'locked' });
    expect(performance.now() - start).toBeGreaterThanOrEqual(195);
    expect(ticks).toBeGreaterThan(1); // none, if the event loop waited; a busy machine has few

    expect(await store.findOriginal(pruneIdOf('a'))).toBe('text');
    expect(store.epoch()).toBeTypeOf('string');

    await lock.release();
    await store.commit({ decisions: [aPrune('b', 'more')], touch: [] }, 200);
    expect(await store.findOriginal(pruneIdOf('b'))).toBe('more');
  });

  it('commits as soon as the lock is gone', async () => {
    const path = tempPath();
    const store = openStore(path);
    const lock = await lockedByAnotherProcess(path);
    const commit = store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 10_000);
    await lock.release();
    expect(await commit).toEqual({ missing: [], refused: [], known: [] });
  });

  it('still replays decisions: a batch that only records uses does not fail, and the uses are kept', async () => {
    const path = tempPath();
    const clock = manualClock();
    const store = openStore(path, { clock });
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
    clock.now += TTL_MS - 1;
    const lock = await lockedByAnotherProcess(path);
    expect(await store.commit({ decisions: [], touch: [pruneIdOf('a')] }, 0)).toEqual({
      missing: [],
      refused: [],
      known: [],
    });
    await lock.release();
    clock.now += TTL_MS - 1;
    await sweepAll(store);
    expect(await store.findOriginal(pruneIdOf('a'))).toBe('text');
  });

  it('reports an error if reads are locked too, and reads again afterwards', async () => {
    const path = tempPath();
    const first = openStore(path);
    await first.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
    await first.close();
    const lock = lockOutEverybody(path);

    const store = openStore(path);
    expect(store.problem()).toMatchObject({ reason: 'locked' });
    await expect(store.findOriginal(pruneIdOf('a'))).rejects.toMatchObject({ reason: 'locked' });
    expect(() => store.epoch()).toThrow(expect.objectContaining({ reason: 'locked' }));
    await expect(store.commit({ decisions: [], touch: [] }, 50)).rejects.toMatchObject({ reason: 'locked' });

    const commit = store.commit({ decisions: [aPrune('b', 'more')], touch: [pruneIdOf('a')] }, 10_000);
    lock.close();
    expect(await commit).toEqual({ missing: [], refused: [], known: [] });
    expect(await store.findOriginal(pruneIdOf('a'))).toBe('text');
  });
});

describe('a store that another process holds', () => {
  const WAIT_MS = 400;

  /** Milliseconds that commits take, one after the other. */
  async function timesOf(store: ReturnType<typeof openStore>, names: readonly string[]): Promise<number[]> {
    const times: number[] = [];
    for (const name of names) {
      const start = performance.now();
      const commit = store.commit({ decisions: [aPrune(name, `text ${name}`)], touch: [] }, WAIT_MS);
      await expect(commit).rejects.toMatchObject({ reason: 'locked' });
      times.push(performance.now() - start);
    }
    return times;
  }

  it.each(['IMMEDIATE', 'EXCLUSIVE'])('is waited for once by requests, not by each (BEGIN %s)', async (kind) => {
    const path = tempPath();
    const store = openStore(path);
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
    const other = new Database(path, { timeout: 0 });
    afterwards(() => other.close());
    other.exec(`BEGIN ${kind}`);
    const [first = 0, ...others] = await timesOf(store, ['b', 'c', 'd', 'e']);
    expect(first).toBeGreaterThanOrEqual(WAIT_MS - 5);
    expect(Math.min(...others)).toBeLessThan(first / 2);
    other.exec('COMMIT');
    await store.commit({ decisions: [aPrune('f', 'more')], touch: [] }, WAIT_MS);
    expect(await store.findOriginal(pruneIdOf('f'))).toBe('more');
  });

  it('is waited for again once it could be written', async () => {
    const path = tempPath();
    const store = openStore(path);
    const other = new Database(path, { timeout: 0 });
    afterwards(() => other.close());
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
    for (const names of [
      ['b', 'c'],
      ['d', 'e'],
      ['f', 'g'],
      ['h', 'i'],
    ]) {
      other.exec('BEGIN IMMEDIATE');
      const [first = 0, second = 0] = await timesOf(store, names);
      expect([first >= WAIT_MS - 5, second < first]).toEqual([true, true]);
      other.exec('COMMIT');
      await store.commit({ decisions: [aPrune(`after ${names[0]}`, 'more')], touch: [] }, WAIT_MS);
    }
  });

  it('is waited for in the background as before', async () => {
    const path = tempPath();
    const store = openStore(path);
    await store.commit({ decisions: [aPrune('a', 'text')], touch: [] }, 0);
    const lock = await lockedByAnotherProcess(path);
    await timesOf(store, ['b']);
    const written = store.sql.write(() => change("DELETE FROM event WHERE kind = 'none'"), { background: 'events' });
    await new Promise((resolve) => setTimeout(resolve, 200)); // longer than a request waits now
    await lock.release();
    await written;
    expect(store.problem()).toBeNull();
  });
});

describe('two stores on one file', () => {
  it("see each other's writes and deletions", async () => {
    const path = tempPath();
    const clock = manualClock();
    const [one, two] = [openStore(path, { clock }), openStore(path, { clock })];
    await one.commit({ decisions: [aPrune('a', 'text'), aWhole('w', 'x')], touch: [] }, 0);
    expect(await two.findOriginal(pruneIdOf('a'))).toBe('text');
    const again = aPrune('a', 'text');
    const committed = await two.commit({ decisions: [again], touch: [] }, 0);
    expect(committed).toEqual({ missing: [], refused: [], known: [again.decision.key] });
    expect(await one.stats()).toMatchObject({ prunes: 1, snapshots: 1 });

    clock.now += TTL_MS;
    const epoch = two.epoch();
    await sweepAll(one);
    expect(two.epoch()).not.toBe(epoch);
  });

  it('both complete all simultaneous commits', async () => {
    const path = tempPath();
    const stores = [openStore(path), openStore(path)];
    const names = Array.from({ length: 200 }, (_, i) => `item ${i}`);
    await Promise.all(
      names.map((name, i) => stores[i % 2]?.commit({ decisions: [aPrune(name, `text of ${name}`)], touch: [] }, 5000)),
    );
    expect((await stores[0]?.knownPruneIds(names.map(pruneIdOf)))?.size).toBe(200);
  });
});

it('logs why the write-ahead log could not be copied', async () => {
  const path = tempPath();
  writeFileSync(path, 'not a database '.repeat(99));
  const logged: unknown[] = [];
  const checkpointer = new Checkpointer(path, { info: () => {}, warn: (...line) => void logged.push(line) });
  await checkpointer.run();
  await checkpointer.close();
  const about = { path, detail: expect.stringContaining('SQLITE_NOTADB') };
  expect(logged).toEqual([[about, 'write-ahead log not copied']]);
});
