import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoreHandle } from '../../src/store/handle.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { aBatch, aSegment, segmentsContract } from '../contract/segments.suite.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { openStore } from '../helpers/rewriter.ts';

const Database = sqliteDriver();

const paths = new WeakMap<StoreHandle, string>();

segmentsContract('a store on a file', async ({ clock, beside }) => {
  const path = (beside && paths.get(beside)) ?? join(tempFolder(), 'store.db');
  const store = openStore(path, clock);
  paths.set(store, path);
  return store;
});

describe('a sweep', () => {
  it('bounds segments and directives, deleting the oldest first', async () => {
    const path = join(tempFolder(), 'store.db');
    const store = openStore(path);
    await store.segments.note([aBatch([aSegment('old')], { conversationId: 'old', atMs: 1_699_999_999_000 })]);
    await store.segments.note([aBatch([aSegment('new')], { conversationId: 'new' })]);
    const db = new Database(path);
    db.exec(`
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO segment SELECT i + 1000, 'p', 'many' || i, (SELECT id FROM conversation WHERE name = 'old'), 't', i, 1, 1, 1,
        'tool', 'log', 'run', 1, 1, '', '', 0, 0, 0, x'', x'', x'' FROM n;
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50200)
      INSERT INTO directive (project, segment, scope, action, up_to) SELECT 'p', 'd' || i, '', 'pin', -1 FROM n;`);
    while (await store.sweep());
    const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    expect(count('segment')).toBeLessThanOrEqual(100_000);
    expect(count('segment')).toBeGreaterThan(99_000);
    expect((await store.segments.findSegments('p', ['new'])).size).toBe(1);
    expect(count('directive')).toBe(50_000);
    expect(db.prepare("SELECT value FROM meter WHERE name = 'directives'").pluck().get()).toBe(50_000);
    expect(db.prepare('SELECT segment FROM directive ORDER BY id LIMIT 1').pluck().get()).toBe('d201');
    db.close();
  });
});
