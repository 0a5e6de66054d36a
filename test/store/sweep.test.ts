import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { aPrune, aWhole, hashOf, manualClock, pruneIdOf } from '../contract/store.suite.ts';
import { codeText, openStore, sweepAll, TTL_MS, tempPath } from './helpers.ts';

const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `item ${from + i}`);
const noise = (bytes: number) => randomBytes(bytes / 2).toString('hex');

describe('originals that are compressed before they are stored', () => {
  it('are the same texts: at once if they are short, on other threads if they are long', async () => {
    const path = tempPath();
    const store = openStore(path);
    const short = codeText(100);
    const texts = [short, `${short}\ud800`, codeText(9_000), noise(60_000), 'one line'];
    for (const [i, text] of texts.entries()) {
      const packed = store.pack?.({ decisions: [aPrune(`text ${i}`, text)], touch: [] });
      expect(packed instanceof Promise).toBe(text.length > 32_768);
      if (packed) await store.commit(await packed, 0);
      expect(await store.findOriginal(pruneIdOf(`text ${i}`))).toBe(text);
    }
    const db = new (sqliteDriver())(path, { readonly: true });
    const rows = db.prepare('SELECT packing FROM snapshot ORDER BY id').pluck().all();
    db.close();
    const [deflated, plain] = [3, 2];
    expect(rows).toEqual([deflated, deflated, deflated, deflated, plain]);
  });
});

describe('the size limit', () => {
  it('is met by deleting the least recently used items first, and no more than necessary', async () => {
    const clock = manualClock();
    const path = tempPath();
    const store = openStore(path, { clock, maxBytes: 1_300_000 });
    for (const name of names(0, 30)) {
      await store.commit({ decisions: [aPrune(name, noise(40_000))], touch: [] }, 0);
      clock.now += 1;
    }
    clock.now += TTL_MS / 2;
    await store.close();
    const smaller = openStore(path, { clock, maxBytes: 300_000 });
    await smaller.commit({ decisions: [], touch: names(0, 3).map(pruneIdOf) }, 0);
    const epoch = smaller.epoch();
    await sweepAll(smaller);
    const { bytes } = await smaller.stats();
    expect(bytes).toBeLessThanOrEqual(300_000);
    expect(bytes).toBeGreaterThan(200_000);
    expect(smaller.epoch()).not.toBe(epoch);
    const kept = [...(await smaller.knownPruneIds(names(0, 30).map(pruneIdOf)))];
    const newest = names(30 - (kept.length - 3), 30);
    expect(kept).toEqual([...names(0, 3), ...newest].map(pruneIdOf));
  });

  it('also applies to decisions to leave a text whole, which share one order of use with prunes', async () => {
    const clock = manualClock();
    const store = openStore(tempPath(), { clock, maxBytes: 40_000 });
    const keys: string[] = [];
    for (const name of names(0, 60)) {
      const item = keys.length % 2 === 0 ? aWhole(name, 'text') : aPrune(name, noise(1_000));
      await store.commit({ decisions: [item], touch: [] }, 0);
      keys.push(item.decision.key);
      clock.now += 1;
    }
    clock.now += TTL_MS / 2;
    await sweepAll(store);
    expect((await store.stats()).bytes).toBeLessThanOrEqual(40_000);
    const found = await store.findDecisions(keys);
    const kept = keys.filter((key) => found.has(key));
    expect(kept.length).toBeGreaterThan(10);
    expect(kept).toEqual(keys.slice(-kept.length));
  });

  it('causes no deletion of data that fits once it is compressed', async () => {
    const store = openStore(tempPath(), { maxBytes: 800_000 });
    const items = names(10, 80).map((name) => aPrune(name, `${name}\n`.repeat(1_700)));
    await store.commit({ decisions: items, touch: [] }, 0);
    expect((await store.stats()).bytes).toBeGreaterThan(950_000);
    await sweepAll(store);
    expect(await store.stats()).toMatchObject({ prunes: 70, bytes: expect.toSatisfy((bytes) => bytes < 100_000) });
  });
});

describe('originals that arrive faster than they can be deleted', () => {
  const flood = async (store: Store, from: number, count: number) => {
    let refused = 0;
    for (const name of names(from, from + count)) {
      try {
        await store.commit({ decisions: [aPrune(name, noise(40_000))], touch: [] }, 0);
      } catch (cause) {
        expect(cause).toMatchObject({ name: 'StoreUnavailable', reason: 'full' });
        refused++;
      }
    }
    return refused;
  };

  it('are refused beyond twice the limit, so that the file also stays bounded', async () => {
    const path = tempPath();
    const store = openStore(path, { maxBytes: 2_000_000 });
    const wanted = 400;
    const refused = await flood(store, 0, wanted);
    expect((await store.stats()).bytes).toBeLessThanOrEqual(4_000_000);
    expect(statSync(path).size + statSync(`${path}-wal`).size).toBeLessThan(4_000_000 * 1.25 * 2);
    expect(refused).toBeGreaterThan(wanted - 101);
    expect(store.problem()).toMatchObject({ reason: 'full' });
    expect(store.pressed()).toBe(true);
    expect((await store.knownPruneIds(names(0, wanted - refused).map(pruneIdOf))).size).toBe(wanted - refused);
  });

  it('evict no recently stored or used items, and are accepted again once those items are old', async () => {
    const clock = manualClock();
    const store = openStore(tempPath(), { clock, maxBytes: 1_000_000 });
    await store.commit({ decisions: [aPrune('living', 'a text that a conversation shows')], touch: [] }, 0);
    await flood(store, 0, 60);
    await sweepAll(store);
    expect(await store.findOriginal(pruneIdOf('living'))).not.toBeNull();
    clock.now += TTL_MS / 4;
    await store.commit({ decisions: [], touch: [pruneIdOf('living')] }, 0);
    await sweepAll(store);
    expect(await store.findOriginal(pruneIdOf('living'))).not.toBeNull();
    expect((await store.stats()).bytes).toBeLessThanOrEqual(1_000_000);
    expect(await flood(store, 100, 5)).toBe(0);
    expect(store.problem()).toBeNull();
  });
});

describe('a sweep', () => {
  it('works in small steps, so that the event loop is never blocked for long', async () => {
    const clock = manualClock();
    const store = openStore(tempPath(), { clock });
    for (let i = 0; i < 15; i++) {
      await store.commit({ decisions: names(i * 100, i * 100 + 100).map((n) => aPrune(n, `${n}\n`)), touch: [] }, 0);
    }
    clock.now += TTL_MS;
    let steps = 1;
    for (; await store.sweep(); steps++) expect(steps).toBeLessThan(1000);
    expect(steps).toBeGreaterThan(2);
    expect(await store.stats()).toEqual({ prunes: 0, snapshots: 0, bytes: 0 });
  });

  it('never deletes an item whose last use is not yet written', async () => {
    const clock = manualClock();
    const store = openStore(tempPath(), { clock });
    const all = names(0, 2100);
    await store.commit({ decisions: all.map((name) => aWhole(name, 'text')), touch: [] }, 0);
    clock.now += TTL_MS - 1;
    const keys = all.map((name) => hashOf(`key ${name}`));
    expect((await store.findDecisions(keys)).size).toBe(2100);
    clock.now += 1;
    await sweepAll(store);
    expect((await store.findDecisions(keys)).size).toBe(2100);
  });

  it('reports its work, or nothing if there was no work', async () => {
    const clock = manualClock();
    const log = { info: vi.fn(), warn: vi.fn() };
    const store = openStore(tempPath(), { clock, log });
    await store.commit({ decisions: [aPrune('a', 'secret text')], touch: [] }, 0);
    await sweepAll(store);
    expect(log.info).not.toHaveBeenCalled();
    clock.now += TTL_MS;
    await sweepAll(store);
    expect(log.info).toHaveBeenCalledExactlyOnceWith({ expired: 1, evicted: 0, packed: 0, pages: 0 }, 'store swept');
    expect(log.warn).not.toHaveBeenCalled();
  });

  it('never runs twice at the same time, and ends quietly if the store is closed meanwhile', async () => {
    const store = openStore(tempPath());
    await store.commit({ decisions: names(0, 20).map((name) => aPrune(name, noise(50_000))), touch: [] }, 0);
    const [one, two] = [store.sweep(), store.sweep()];
    expect(one).toBe(two);
    const outcome = expect(one).rejects.toMatchObject({ reason: 'closed' });
    await store.close();
    await outcome;
  });

  it('compresses real source text to at most half of its size on disk, and returns freed pages', async () => {
    const path = tempPath();
    const clock = manualClock();
    const store = openStore(path, { clock });
    const folder = join(import.meta.dirname, '../../node_modules/better-sqlite3/deps/sqlite3');
    const source = readFileSync(join(folder, 'sqlite3.c'), 'utf8').slice(0, 1_500_000);
    const texts = Array.from({ length: 75 }, (_, i) => source.slice(i * 20_000, (i + 1) * 20_000));
    const items = texts.map((text, i) => aPrune(`item ${i}`, text));
    await sweepAll(store);
    const size = () => statSync(path).size + statSync(`${path}-wal`).size;
    const empty = size();
    await store.commit({ decisions: items, touch: [] }, 0);
    await sweepAll(store);
    const total = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    expect((await store.stats()).bytes / total).toBeLessThan(0.4);
    // the log shrinks once the checkpoint on its thread is through
    await expect
      .poll(() => sweepAll(store).then(() => (size() - empty) / total), { timeout: 15_000 })
      .toBeLessThan(0.5);
    for (const { decision, text } of items) expect(await store.findOriginal(decision.pruneId ?? '')).toBe(text);

    clock.now += TTL_MS;
    await store.commit({ decisions: names(100, 110).map((n, i) => aPrune(n, codeText(300, i))), touch: [] }, 0);
    await sweepAll(store);
    expect((await store.stats()).prunes).toBe(10);
  });
});
