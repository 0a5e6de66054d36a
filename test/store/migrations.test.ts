import type SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Migration } from '../../src/store/schema/migrations.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { checkSchema, migrate, migrations } from '../../src/store/sqlite/migrate.ts';
import { aPrune, aWhole, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards, openStore, tempPath } from './helpers.ts';

const Database = sqliteDriver();

const versionOf = (db: SqliteDatabase.Database) => db.pragma('user_version', { simple: true });

function open(path: string): SqliteDatabase.Database {
  const db = new Database(path);
  afterwards(() => db.close());
  return db;
}

const latest = migrations.at(-1)?.version ?? 0;

const later = (by: number, sql: string): Migration => ({ version: latest + by, worksWith: latest, sql: () => sql });

describe('migrations', () => {
  it('are numbered in ascending order', () => {
    const versions = migrations.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it('bring an older file to the newest schema with all its content', async () => {
    const path = tempPath();
    const item = aPrune('old', 'old text');
    await openStore(path).commit({ decisions: [item], touch: [] }, 0);
    const db = open(path);
    migrate(db, [...migrations, later(1, 'CREATE TABLE later (id INTEGER PRIMARY KEY, x TEXT NOT NULL) STRICT;')]);
    expect(versionOf(db)).toBe(latest + 1);
    expect(db.prepare('SELECT count(*) FROM later').pluck().get()).toBe(0);
    db.pragma(`user_version = ${latest}`); // a program that knows the table is not there yet
    const store = openStore(path);
    expect(await store.findOriginal(pruneIdOf('old'))).toBe('old text');
    expect((await store.findDecisions([item.decision.key])).get(item.decision.key)).toEqual(item.decision);
  });

  it('refuse a file of an older schema with a one-line error, and leave it unchanged', async () => {
    const path = tempPath();
    await openStore(path).commit({ decisions: [aPrune('old', 'old text')], touch: [] }, 0);
    const db = open(path);
    db.pragma('user_version = 12');
    const store = openStore(path);
    expect(store.problem()?.message).toMatch(/schema version 12 of a pre-release.*choose another path/);
    const commit = async () => store.commit({ decisions: [aWhole('b', 'x')], touch: [] }, 0);
    await expect(commit()).rejects.toMatchObject({ reason: 'error' });
    expect(versionOf(db)).toBe(12);
  });

  it('do not change a file that is up to date, whichever process opens it', async () => {
    const path = tempPath();
    await openStore(path).commit({ decisions: [aWhole('a', 'x')], touch: [] }, 0);
    const db = open(path);
    const before = db.pragma('schema_version', { simple: true });
    migrate(db);
    await openStore(path).commit({ decisions: [aWhole('b', 'x')], touch: [] }, 0);
    expect(db.pragma('schema_version', { simple: true })).toBe(before);
  });

  it('add the tables of a part once to a file that was created without the part', async () => {
    const path = tempPath();
    const item = aPrune('old', 'old text');
    await openStore(path, { parts: [] }).commit({ decisions: [item], touch: [] }, 0);
    const db = open(path);
    const graphs = db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'fleet_graph'").pluck();
    expect(graphs.get()).toBe(0);
    const store = openStore(path);
    expect(await store.findOriginal(pruneIdOf('old'))).toBe('old text');
    expect(graphs.get()).toBe(1);
    const added = db.pragma('schema_version', { simple: true });
    await openStore(path).ready();
    expect(db.pragma('schema_version', { simple: true })).toBe(added);
  });

  it('leave the file at the last good version if a step fails, and continue from there', () => {
    const path = tempPath();
    const db = open(path);
    const steps = (sql: string): Migration[] => [...migrations, later(1, 'CREATE TABLE later (x)'), later(2, sql)];
    expect(() => migrate(db, steps('CREATE TABLE half (x); CREATE TABLE later (x)'))).toThrow('already exists');
    expect(versionOf(db)).toBe(latest + 1);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").pluck().get()).toBe(0);
    migrate(db, steps('CREATE TABLE half (x)'));
    expect(versionOf(db)).toBe(latest + 2);
    expect(() => checkSchema(db, path)).toThrow(/supports versions up to/);
  });
});
