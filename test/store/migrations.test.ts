import type SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { checkSchema, migrate, migrations } from '../../src/store/sqlite/migrations/migrate.ts';
import type { Migration } from '../../src/store/sqlite/migrations/migration.ts';
import { aPrune, aWhole, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards, openStore, tempPath } from './helpers.ts';

const Database = sqliteDriver();

const versionOf = (db: SqliteDatabase.Database) => db.pragma('user_version', { simple: true });

function open(path: string): SqliteDatabase.Database {
  const db = new Database(path);
  afterwards(() => db.close());
  return db;
}

describe('migrations', () => {
  it('are numbered in ascending order from one on', () => {
    const versions = migrations.map(({ version }) => version);
    expect(versions[0]).toBe(1);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it('bring a file of the first version to today’s with all that is in it', async () => {
    const path = tempPath();
    const db = open(path);
    migrate(db, migrations.slice(0, 1));
    expect(versionOf(db)).toBe(1);
    const item = aPrune('old', 'old text');
    const { key: _key, pruneId, cuts, ...rest } = item.decision;
    const body = JSON.stringify({ ...rest, cuts: cuts.map((cut) => [cut.startLine, cut.endLine, cut.reason]) });
    const far = 9_000_000_000_000;
    db.prepare('INSERT INTO content VALUES (1, ?)').run(Buffer.from('old text'));
    db.prepare('INSERT INTO snapshot VALUES (1, ?, 0, 2, 8, 8, 1)').run(item.decision.textHash);
    db.prepare('INSERT INTO prune VALUES (1, ?, 1, ?, ?, 1, ?)').run(pruneId, item.decision.key, body, far);
    db.prepare('INSERT INTO decision VALUES (1, ?, 1, NULL, ?)').run(item.decision.key, far);
    db.close();

    const store = openStore(path);
    expect(store.problem()).toBeNull();
    expect(await store.findOriginal(pruneIdOf('old'))).toBe('old text');
    expect((await store.findDecisions([item.decision.key])).get(item.decision.key)).toEqual(item.decision);
    await store.addUsage([
      { atMs: 0, model: 'm', tool: 't', requests: 1, candidates: 1, pruned: 1, tokensBefore: 2, tokensAfter: 1 },
    ]);
    expect(await store.usage('1970-01-01')).toHaveLength(1);
    expect(versionOf(open(path))).toBe(migrations.at(-1)?.version);
  });

  it('do nothing to a file that is up to date, by whichever process', async () => {
    const path = tempPath();
    await openStore(path).commit({ decisions: [aWhole('a', 'x')], touch: [] }, 0);
    const db = open(path);
    const before = db.pragma('schema_version', { simple: true });
    migrate(db);
    await openStore(path).commit({ decisions: [aWhole('b', 'x')], touch: [] }, 0);
    expect(db.pragma('schema_version', { simple: true })).toBe(before);
  });

  it('leave the file at the last good version when a step fails, and go on from there', () => {
    const path = tempPath();
    const db = open(path);
    const next = (migrations.at(-1)?.version ?? 0) + 1;
    const steps = (sql: string): Migration[] => [
      ...migrations,
      { version: next, up: (on) => on.exec('CREATE TABLE later (x)') },
      { version: next + 1, up: (on) => on.exec(sql) },
    ];
    expect(() => migrate(db, steps('CREATE TABLE half (x); CREATE TABLE later (x)'))).toThrow('already exists');
    expect(versionOf(db)).toBe(next);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").pluck().get()).toBe(0);
    migrate(db, steps('CREATE TABLE half (x)'));
    expect(versionOf(db)).toBe(next + 1);
    expect(() => checkSchema(db, path)).toThrow(/knows up to/);
  });
});
