import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { StoreFileError } from '../../src/store/sqlite/errors.ts';
import { aPrune, manualClock, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards, codeText, openStore, sweepAll, TTL_MS, tempPath } from './helpers.ts';

const Database = sqliteDriver();

const put = async (store: Store, name: string, text = `text of ${name}`) =>
  store.commit({ decisions: [aPrune(name, text)], touch: [] }, 0);

/** Waits until the store works again by itself. */
const comesBack = (store: Store, name: string) => vi.waitFor(() => put(store, name), { timeout: 5000, interval: 20 });

/** A file with one prune in it, closed. */
async function filledPath(): Promise<string> {
  const path = tempPath();
  const store = openStore(path);
  await put(store, 'old');
  await store.close();
  return path;
}

describe('a store whose file is deleted or replaced while in use', () => {
  it('continues in a new file and a new epoch if the file was deleted', async () => {
    const path = tempPath();
    const store = openStore(path);
    await put(store, 'a');
    const epoch = store.epoch();
    rmSync(path);
    await nextTurn(); // the file is looked at once a turn
    expect(store.epoch()).not.toBe(epoch);
    expect(await store.commit({ decisions: [], touch: [pruneIdOf('a')] }, 0)).toEqual({
      missing: [pruneIdOf('a')],
      refused: [],
      known: [],
    });
    await put(store, 'a');
    await store.close();
    expect(await openStore(path).findOriginal(pruneIdOf('a'))).toBe('text of a');
  });

  it.each(['commit', 'sweep'] as const)('also detects the deletion during a %s', async (verb) => {
    const path = tempPath();
    const store = openStore(path);
    await put(store, 'a');
    for (const side of ['', '-wal', '-shm']) rmSync(path + side);
    await (verb === 'commit' ? put(store, 'b') : store.sweep());
    expect(existsSync(path)).toBe(true);
    await put(store, 'b');
    expect(await openStore(path).findOriginal(pruneIdOf('b'))).toBe('text of b');
  });

  it('continues if its whole folder was deleted', async () => {
    const path = tempPath();
    const store = openStore(path);
    await put(store, 'a');
    rmSync(dirname(path), { recursive: true });
    await put(store, 'b');
    expect(await store.findOriginal(pruneIdOf('b'))).toBe('text of b');
  });

  it('shares one new file with a second process', async () => {
    const path = tempPath();
    const [one, two] = [openStore(path), openStore(path)];
    await put(one, 'a');
    await put(two, 'b');
    rmSync(path);
    one.epoch();
    await put(one, 'c');
    two.epoch();
    await put(two, 'd');
    await one.close();
    await two.close();
    const known = await openStore(path).knownPruneIds(['a', 'b', 'c', 'd'].map(pruneIdOf));
    expect(known).toEqual(new Set(['c', 'd'].map(pruneIdOf)));
  });

  it('reads the replacement file', async () => {
    const [path, other] = [tempPath(), await filledPath()];
    const store = openStore(path);
    await put(store, 'a');
    const epoch = store.epoch();
    renameSync(other, path);
    await nextTurn();
    expect(store.epoch()).not.toBe(epoch);
    expect(await store.findOriginal(pruneIdOf('old'))).toBe('text of old');
    expect(await store.findOriginal(pruneIdOf('a'))).toBeNull();
  });

  it('loses no commit if only the write-ahead log was deleted', async () => {
    const path = tempPath();
    const store = openStore(path);
    await put(store, 'a');
    rmSync(`${path}-wal`);
    await put(store, 'b');
    const copy = tempPath(); // as a process would find it that starts after a kill
    for (const side of ['', '-wal']) copyFileSync(path + side, copy + side);
    const after = openStore(copy);
    expect(await after.findOriginal(pruneIdOf('a'))).toBe('text of a');
    expect(await after.findOriginal(pruneIdOf('b'))).toBe('text of b');
  });
});

describe('a store on any file', () => {
  it('does not stop the program: garbage is reported, and a valid file that replaces it is used', async () => {
    const path = tempPath();
    writeFileSync(path, randomBytes(20_000));
    const log = { info: vi.fn(), warn: vi.fn() };
    const store = openStore(path, { log });
    expect(store.problem()).toBeInstanceOf(StoreFileError);
    expect(store.problem()).toMatchObject({ reason: 'corrupt', message: expect.stringContaining(path) });
    expect(store.problem()?.message).not.toContain('\n');
    for (let i = 0; i < 3; i++) await expect(put(store, 'a')).rejects.toMatchObject({ reason: 'corrupt' });
    expect(() => store.epoch()).toThrow(expect.objectContaining({ reason: 'corrupt' }));
    expect(readFileSync(path)).toHaveLength(20_000); // not ours to delete
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ reason: 'corrupt' }),
      'store unavailable',
    );

    rmSync(path);
    await comesBack(store, 'a');
    expect(store.problem()).toBeNull();
    expect(log.info).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ was: 'corrupt' }), 'store back');
  });

  it('recovers after its file was overwritten with garbage while in use and then removed', async () => {
    const path = tempPath();
    const store = openStore(path);
    for (let i = 0; i < 40; i++) await put(store, `item ${i}`, codeText(200, i));
    await sweepAll(store);
    for (const side of ['', '-wal']) writeFileSync(path + side, randomBytes(200_000));
    for (let i = 0; i < 40; i++) {
      const read = store.findOriginal(pruneIdOf(`item ${i}`)); // may still be in SQLite's memory
      const text = await read.catch((cause: unknown) => {
        expect(cause).toMatchObject({ name: 'StoreUnavailable' });
        return codeText(200, i);
      });
      expect(text).toBe(codeText(200, i));
    }
    for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
    await comesBack(store, 'x');
  });

  it('reports a truncated file as corrupt, at the start and while in use', async () => {
    const path = tempPath();
    const store = openStore(path);
    for (let i = 0; i < 40; i++) await put(store, `item ${i}`, codeText(200, i));
    await store.close();
    truncateSync(path, 3 * 4096);
    const after = openStore(path);
    await expect(put(after, 'x')).rejects.toMatchObject({ reason: 'corrupt' });
    for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
    await comesBack(after, 'x');
  });

  it('treats an emptied file as a new store', async () => {
    const path = await filledPath();
    truncateSync(path, 0);
    const store = openStore(path);
    await put(store, 'a');
    expect(await store.findOriginal(pruneIdOf('old'))).toBeNull();
  });

  it('keeps its file open after statements that name no table, and opens it again once its tables are gone', async () => {
    const path = tempPath();
    const store = openStore(path);
    await put(store, 'a');
    const epoch = store.epoch(); // counts connections
    for (let i = 0; i < 3; i++)
      await expect(store.sql.all('SELECT * FROM main.absent')).rejects.toMatchObject({ reason: 'corrupt' });
    expect([store.problem(), store.epoch()]).toEqual([null, epoch]);
    expect(await store.findOriginal(pruneIdOf('a'))).not.toBeNull();
    const db = new Database(path);
    db.exec('DROP TABLE served');
    db.close();
    await expect(store.sql.all('SELECT * FROM main.served')).rejects.toMatchObject({ reason: 'corrupt' });
    await expect.poll(() => store.epoch()).not.toBe(epoch);
  });

  it('refuses a file of a newer version and leaves it alone', async () => {
    const path = await filledPath();
    const db = new Database(path);
    db.pragma('user_version = 999');
    db.close();
    const store = openStore(path);
    expect(store.problem()).toMatchObject({ reason: 'newer_schema' });
    expect(store.problem()?.message).toMatch(/schema version 999.*supports versions up to \d+.*upgrade/);
    await expect(put(store, 'a')).rejects.toMatchObject({ reason: 'newer_schema' });
  });

  it("refuses another program's database and leaves it alone", async () => {
    const path = tempPath();
    const db = new Database(path);
    db.exec('CREATE TABLE theirs (x)');
    db.close();
    const before = readFileSync(path);
    const store = openStore(path);
    expect(store.problem()?.message).toContain('another program');
    await expect(put(store, 'a')).rejects.toMatchObject({ reason: 'error' });
    expect(readFileSync(path)).toEqual(before);
  });

  it('rejects a path that is a folder', async () => {
    const store = openStore(dirname(tempPath()));
    await expect(put(store, 'a')).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });

  it('leaves no text in the write-ahead log when it closes, even while another process has the file open', async () => {
    const path = await filledPath();
    const other = new Database(path);
    afterwards(() => void other.close());
    other.prepare('SELECT count(*) FROM sqlite_master').get();
    const store = openStore(path);
    await put(store, 'new');
    await store.close();
    const { statSync } = await import('node:fs');
    expect(statSync(`${path}-wal`).size).toBe(0);
    other.close();
    expect(await openStore(path).findOriginal(pruneIdOf('new'))).toBe('text of new');
  });

  it('creates its folder, and a file that only its owner can read', async () => {
    const path = join(dirname(tempPath()), 'deeper', 'still', 'store.db');
    await put(openStore(path), 'a');
    const { statSync } = await import('node:fs');
    for (const side of ['', '-wal', '-shm']) expect(statSync(path + side).mode & 0o777).toBe(0o600);
  });
});

describe('a store on a full disk', () => {
  it('reports that the disk is full, stays readable and usable, and works again once there is space', async () => {
    const clock = manualClock();
    const store = openStore(tempPath(), { clock, maxFileBytes: 600_000 });
    await put(store, 'a');
    clock.now += TTL_MS / 2;
    let stored = 0;
    const fill = async () => {
      for (; stored < 1000; stored++) await put(store, `item ${stored}`, randomBytes(20_000).toString('base64'));
    };
    await expect(fill()).rejects.toMatchObject({ reason: 'full' });
    expect(stored).toBeGreaterThan(5);
    expect(await store.findOriginal(pruneIdOf('a'))).toBe('text of a');
    expect(await store.commit({ decisions: [], touch: [pruneIdOf('a')] }, 0)).toEqual({
      missing: [],
      refused: [],
      known: [],
    });
    expect((await store.knownPruneIds([pruneIdOf('item 0')])).size).toBe(1);
    expect((await store.knownPruneIds([pruneIdOf(`item ${stored}`)])).size).toBe(0);

    clock.now += TTL_MS;
    await sweepAll(store);
    await put(store, 'b', randomBytes(20_000).toString('base64'));
  });

  it('frees space by compression, down to the last page, if nothing may be deleted', async () => {
    const store = openStore(tempPath(), { maxFileBytes: 600_000 });
    for (const bytes of [20_000, 5_000, 1_500, 300]) {
      const fill = async () => {
        for (let i = 0; i < 1000; i++) await put(store, `${bytes} ${i}`, randomBytes(bytes).toString('base64'));
      };
      await expect(fill()).rejects.toMatchObject({ reason: 'full' });
    }
    await sweepAll(store);
    await put(store, 'b', randomBytes(20_000).toString('base64'));
  });
});

describe('failed writes', () => {
  /** Fills the file with texts too small to be compressed. */
  const filled = async (store: Store) => {
    for (let i = 0; i < 1000; i++) {
      const failed = await put(store, `item ${i}`, randomBytes(1_400).toString('base64')).then(
        () => false,
        () => true,
      );
      if (failed) return;
    }
    throw new Error('never full');
  };

  it('are reported from the first failure until a write succeeds, even if reads work', async () => {
    const clock = manualClock();
    const store = openStore(tempPath(), { clock, maxFileBytes: 600_000 });
    await filled(store);
    const since = clock.now;
    expect(store.problem()).toMatchObject({ reason: 'full' });
    expect(store.failingSinceMs()).toBe(since);
    clock.now += 5_000;
    // what changes rows in their place works on a full disk, and so says nothing
    await store.commit({ decisions: [], touch: [pruneIdOf('item 0')] }, 0);
    await store.sweep();
    await expect(put(store, 'more', randomBytes(1_400).toString('base64'))).rejects.toMatchObject({ reason: 'full' });
    expect(store.problem()).toMatchObject({ reason: 'full' });
    expect(store.failingSinceMs()).toBe(since);

    clock.now += 2 * TTL_MS; // all of it expires, and upkeep finds out by itself that there is room
    await sweepAll(store);
    await sweepAll(store);
    expect(store.problem()).toBeNull();
    expect(store.failingSinceMs()).toBeNull();
  });

  it('are no longer reported if a lock was the only cause', async () => {
    const path = tempPath();
    const store = openStore(path);
    await put(store, 'a');
    const lock = new Database(path, { timeout: 0 });
    lock.exec('BEGIN IMMEDIATE');
    await expect(put(store, 'b')).rejects.toMatchObject({ reason: 'locked' });
    expect(store.problem()).toMatchObject({ reason: 'locked' });
    lock.exec('ROLLBACK');
    lock.close();
    await store.sweep();
    expect(store.problem()).toBeNull();
  });
});

describe('a store with a read-only file', () => {
  /** Root may write anything, so the test goes on as nobody. */
  const asNobody = () => {
    if (process.geteuid?.() !== 0) return;
    process.seteuid?.(65_534);
    afterwards(() => process.seteuid?.(0));
  };

  it('can be read; a commit fails with readonly, and succeeds once writing is allowed', async () => {
    const path = await filledPath();
    chmodSync(dirname(path), 0o777);
    chmodSync(path, 0o444);
    asNobody();
    const store = openStore(path);
    expect(await store.findOriginal(pruneIdOf('old'))).toBe('text of old');
    expect(await store.commit({ decisions: [], touch: [pruneIdOf('old')] }, 0)).toEqual({
      missing: [],
      refused: [],
      known: [],
    });
    await expect(put(store, 'a')).rejects.toMatchObject({ reason: 'readonly' });
    expect(await store.findOriginal(pruneIdOf('old'))).toBe('text of old');

    if (process.getuid?.() === 0) process.seteuid?.(0);
    chmodSync(path, 0o666);
    asNobody();
    await comesBack(store, 'a');
  });

  it('cannot be created without write permission', async () => {
    const path = tempPath();
    chmodSync(dirname(path), 0o555);
    asNobody();
    const store = openStore(path);
    expect(store.problem()).toMatchObject({ reason: 'readonly', message: expect.stringContaining(path) });
    await expect(put(store, 'a')).rejects.toMatchObject({ reason: 'readonly' });
  });
});

describe('a read-only store', () => {
  it('reads what a running server writes, and writes nothing itself', async () => {
    const path = tempPath();
    const clock = manualClock();
    const server = openStore(path, { clock });
    await put(server, 'a');
    const reader = openStore(path, { clock, readonly: true });
    expect(reader.problem()).toBeNull();
    expect(await reader.findOriginal(pruneIdOf('a'))).toBe('text of a');
    await put(server, 'b');
    expect((await reader.findPrune(pruneIdOf('b')))?.decision.goal).toBe('find b');
    expect(await reader.ledger.sums({ sinceDay: '2000-01-01' })).toEqual([]);
    expect(await reader.events({ fromSeq: 0, limit: 5 })).toEqual([]);
    await expect(put(reader, 'c')).rejects.toMatchObject({ reason: 'readonly' });
    await expect(reader.sweep()).rejects.toMatchObject({ reason: 'readonly' });
  });

  it('reads a file that no server is using', async () => {
    const reader = openStore(await filledPath(), { readonly: true });
    expect(await reader.findOriginal(pruneIdOf('old'))).toBe('text of old');
  });

  it('creates no file', async () => {
    const path = tempPath();
    const reader = openStore(path, { readonly: true });
    expect(reader.problem()?.message).toContain('no such file');
    await expect(reader.findPrune('prn_a')).rejects.toBeInstanceOf(StoreFileError);
    expect(existsSync(path)).toBe(false);
  });
});
