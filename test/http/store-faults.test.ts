import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { type FakeUpstream, startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn, rebuild } from '../helpers/markers.ts';
import { type ProxyOptions, startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const Database = sqliteDriver();

interface Bench {
  readonly proxy: TestProxy;
  readonly upstream: FakeUpstream;
  /** Sends a request nobody has seen, which must be answered; says whether it went upstream pruned. */
  fresh(): Promise<'pruned' | 'as it came'>;
  /** Sends the request of that number again. */
  again(seed: number): Promise<'pruned' | 'as it came'>;
  /** The reasons that the log gives for the last request. */
  reasons(): Promise<unknown>;
}

async function setUp(options: ProxyOptions = {}): Promise<Bench> {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, options);
  let seed = 0;
  const again = async (n: number): Promise<'pruned' | 'as it came'> => {
    const text = serverLog(200, n);
    const body = chatBody(oneResult(text, { args: { command: `job ${n}` } }));
    const answer = await proxy.chat(body);
    expect(answer.status).toBe(200);
    await answer.text();
    const sent = upstream.last.body;
    if (sent.equals(body)) return 'as it came';
    // What was announced to the upstream must be there.
    expect(await rebuild(contentAt(sent, -1), proxy)).toBe(text);
    return 'pruned';
  };
  return {
    proxy,
    upstream,
    fresh: () => again(seed++),
    again,
    reasons: async () => (await proxy.requestLines(upstream.requests.length)).at(-1)?.fallbacks,
  };
}

async function healthOf(proxy: TestProxy): Promise<unknown> {
  return ((await (await fetch(`${proxy.url}/health`)).json()) as { store: unknown }).store;
}

/** A small disk of its own; where one may not be mounted the test says so. */
function smallDisk(options: string): string | null {
  const folder = join(tempFolder(), 'disk');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
  afterwards(() => execFileSync('umount', ['-l', folder]));
  return folder;
}

describe('requests succeed, and pruning resumes automatically, when the store', () => {
  it('cannot be created at its path', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'data'), 'a file in the place of the folder');
    const { proxy, fresh, reasons } = await setUp({ dbPath: join(folder, 'data', 'store.db') });
    expect(await fresh()).toBe('as it came');
    expect(await reasons()).toEqual(['store_error']);
    expect(await healthOf(proxy)).toBe('error');
    expect(await proxy.logText()).toContain('cannot use the store');
    rmSync(join(folder, 'data'));
    await until(async () => (await fresh()) === 'pruned');
    expect(await healthOf(proxy)).toBe('ok');
  });

  it('is deleted while in use', async () => {
    const { proxy, fresh, again } = await setUp();
    expect(await fresh()).toBe('pruned');
    for (const suffix of ['', '-wal', '-shm']) rmSync(proxy.dbPath + suffix, { force: true });
    expect(await fresh()).toBe('pruned');
    // The conversation before goes on as it was, and its original is there again.
    expect(await again(0)).toBe('pruned');
    expect(await proxy.logText()).toContain('store file deleted or replaced');
  });

  it('is deleted while in use, and the pruned form of the next request is remembered', async () => {
    const { proxy, upstream, fresh, again } = await setUp();
    expect(await fresh()).toBe('pruned');
    for (const suffix of ['', '-wal', '-shm']) rmSync(proxy.dbPath + suffix, { force: true });
    expect(await again(0)).toBe('pruned');
    // The process could still read the file that has gone; whoever comes after it cannot.
    await proxy.restart();
    expect(await rebuild(contentAt(upstream.last.body, -1), proxy)).toBe(serverLog(200, 0));
  });

  it('is deleted with its whole folder', async () => {
    const folder = join(tempFolder(), 'deep', 'er');
    const { fresh, again } = await setUp({ dbPath: join(folder, 'store.db') });
    expect(await fresh()).toBe('pruned');
    rmSync(folder, { recursive: true });
    expect(await fresh()).toBe('pruned');
    expect(await again(0)).toBe('pruned');
  });

  it('is replaced by another one', async () => {
    const other = await setUp();
    await other.fresh();
    await other.proxy.stop();
    const { proxy, fresh, again } = await setUp();
    expect(await fresh()).toBe('pruned');
    renameSync(other.proxy.dbPath, proxy.dbPath);
    expect(await fresh()).toBe('pruned');
    expect(await again(0)).toBe('pruned');
  });

  it('loses its write-ahead log while in use', async () => {
    const { proxy, fresh, again } = await setUp();
    expect(await fresh()).toBe('pruned');
    rmSync(`${proxy.dbPath}-wal`);
    expect(await fresh()).toBe('pruned');
    expect(await again(0)).toBe('pruned');
    await proxy.restart();
    expect(await again(0)).toBe('pruned');
    expect(await again(1)).toBe('pruned');
  });

  it.each([
    ['cut to nothing', (path: string) => truncateSync(path, 0)],
    ['cut in half', (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096)],
    ['overwritten with garbage', overwrite],
  ])('is %s while nobody runs, and then taken away', async (_name, damage) => {
    const { proxy, fresh, again } = await setUp();
    expect(await fresh()).toBe('pruned');
    await proxy.stop();
    damage(proxy.dbPath);
    await proxy.start();
    // An empty file is a new store at once; of a damaged one nothing may be promised that is not there.
    await fresh();
    await again(0);
    for (const suffix of ['', '-wal', '-shm']) rmSync(proxy.dbPath + suffix, { force: true });
    await until(async () => (await fresh()) === 'pruned');
    expect(await again(0)).toBe('pruned');
  });

  it('is overwritten with garbage while in use, and then removed', async () => {
    const { proxy, fresh, reasons } = await setUp();
    expect(await fresh()).toBe('pruned');
    overwrite(proxy.dbPath);
    const ends = [];
    for (let i = 0; i < 4; i++) ends.push([await fresh(), await reasons()]);
    // Pages may still be in memory or in the log; sooner or later the damage shows, and then nothing is cut.
    for (const [end, reason] of ends) if (end === 'as it came') expect(reason).toEqual(['store_corrupt']);
    for (const suffix of ['', '-wal', '-shm']) rmSync(proxy.dbPath + suffix, { force: true });
    await until(async () => (await fresh()) === 'pruned');
  });

  it('was written by a newer version: the start fails, and names both versions and the setting', async () => {
    const { proxy, fresh } = await setUp();
    await fresh();
    await proxy.stop();
    const db = new Database(proxy.dbPath);
    db.pragma('user_version = 9999');
    db.close();
    await expect(proxy.start()).rejects.toThrow(
      /schema version 9999, this program supports versions up to \d+; upgrade .*MCP_PRUNER_NEWER_STORE=raw/,
    );
  });

  it('was written by a newer version, and is to be bypassed on purpose', async () => {
    const { proxy, fresh, reasons } = await setUp({ env: { MCP_PRUNER_NEWER_STORE: 'raw' } });
    await fresh();
    await proxy.stop();
    const db = new Database(proxy.dbPath);
    const version = Number(db.pragma('user_version', { simple: true }));
    db.pragma('user_version = 9999');
    db.close();
    await proxy.start();
    expect(await fresh()).toBe('as it came');
    expect(await reasons()).toEqual(['store_newer_schema']);
    expect(await proxy.logText()).toContain('schema version 9999');
    const older = new Database(proxy.dbPath);
    older.pragma(`user_version = ${version}`);
    older.close();
    await until(async () => (await fresh()) === 'pruned');
  });

  it('is locked by another process for longer than pruning may take', async () => {
    const { proxy, fresh, again, reasons } = await setUp({ env: { MCP_PRUNER_TIMEOUT_MS: '300' } });
    await until(async () => (await fresh()) === 'pruned');
    const other = new Database(proxy.dbPath);
    afterwards(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    expect(await fresh()).toBe('as it came');
    expect(await reasons()).toEqual(['store_locked']);
    // What was decided before needs no write.
    const seen = await again(0);
    other.exec('COMMIT');
    expect(seen).toBe('pruned');
    await until(async () => (await fresh()) === 'pruned');
    const health = (await (await fetch(`${proxy.url}/health`)).json()) as { not_understood: unknown };
    expect(health.not_understood).toEqual({ store_unavailable: 1 });
    const whole = other.prepare(
      "SELECT key, field, value FROM ledger_sum WHERE slice = 'whole' AND field = 'requests'",
    );
    await expect.poll(() => whole.all()).toEqual([{ key: 'store_unavailable', field: 'requests', value: 1 }]);
  });

  it('is briefly locked by another process, while requests wait', async () => {
    const { proxy, fresh } = await setUp();
    await fresh();
    const other = new Database(proxy.dbPath);
    afterwards(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => other.exec('COMMIT'), 300);
    expect(await fresh()).toBe('pruned');
  });
});

/** Writes noise over all of a file but leaves it the same file. */
function overwrite(path: string): void {
  const size = statSync(path).size;
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(size, 'garbage!'));
  closeSync(file);
}

describe('on a separate disk', () => {
  const disk = smallDisk('size=3m') !== null;

  it.skipIf(!disk)('that is full, requests go through, and pruning resumes once there is room', async () => {
    const folder = smallDisk('size=3m') ?? '';
    const { fresh, again, reasons, proxy } = await setUp({ dbPath: join(folder, 'store.db') });
    expect(await fresh()).toBe('pruned');
    const filler = openSync(join(folder, 'filler'), 'w');
    const block = Buffer.alloc(4096);
    try {
      for (;;) writeSync(filler, block);
    } catch {
      closeSync(filler);
    }
    await until(async () => (await fresh()) === 'as it came');
    expect(await reasons()).toEqual(['store_full']);
    // What was announced before is still to be had, and still pruned the same way.
    expect(await again(0)).toBe('pruned');
    expect(await proxy.logText()).toContain('store unavailable');
    expect(await healthOf(proxy)).toBe('full');
    rmSync(join(folder, 'filler'));
    await until(async () => (await healthOf(proxy)) === 'ok'); // found out without a request
    expect(await fresh()).toBe('pruned');
  });

  it.skipIf(!disk)('that is read-only, requests go through, and pruning resumes once it is writable', async () => {
    const folder = smallDisk('size=3m') ?? '';
    const { fresh, reasons, proxy, again } = await setUp({ dbPath: join(folder, 'store.db') });
    expect(await fresh()).toBe('pruned');
    await proxy.stop();
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    await proxy.start();
    expect(await fresh()).toBe('as it came');
    expect(await reasons()).toEqual(['store_readonly']); // though SQLite says that it cannot open the file
    expect(await proxy.logText()).toContain('it is on a read-only file system');
    execFileSync('mount', ['-o', 'remount,rw', folder]);
    await until(async () => (await fresh()) === 'pruned');
    expect(await again(0)).toBe('pruned');
  });
});

describe('a store that cannot be used', () => {
  it('is reported by recover_text instead of an unknown id, and does not make /metrics or /health fail', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'data'), '');
    const { proxy, fresh } = await setUp({ dbPath: join(folder, 'data', 'store.db') });
    await fresh();
    const { error } = await proxy.call('recover_text', {
      prune_id: 'prn_000000000000',
      ranges: [{ start_line: 1, end_line: 2 }],
      include_line_numbers: false,
    });
    expect(error).toMatchObject({ code: -32006, message: 'recovery_unavailable' });
    expect(await (await fetch(`${proxy.url}/metrics`)).text()).toContain('mcp_pruner_store_up 0');
    expect((await fetch(`${proxy.url}/health`)).status).toBe(200);
  });

  it('is reported in the log line of each request', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'data'), '');
    const { proxy, fresh } = await setUp({ dbPath: join(folder, 'data', 'store.db') });
    for (let i = 0; i < 10; i++) await fresh();
    const lines = (await proxy.requestLines(10)).map(({ fallbacks }) => fallbacks);
    expect(lines).toEqual(Array.from({ length: 10 }, () => ['store_error']));
  });

  it('does not prevent a refused conversation from staying unpruned', async () => {
    const { proxy, upstream, fresh } = await setUp();
    await fresh();
    const pruned = contentAt(upstream.last.body, -1);
    const [marker] = markersIn(pruned);
    const body = chatBody(oneResult(`${serverLog(150, 77)}${pruned}`, { args: { command: 'cat notes' } }));
    await (await proxy.chat(body)).text();
    expect(upstream.last.body.equals(body)).toBe(true);
    expect(marker).toBeDefined();
  });
});
