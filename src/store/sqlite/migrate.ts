import type { Database } from 'better-sqlite3';
import type { PartTables } from '../part-tables.ts';
import { additions, FIRST_VERSION, type Migration } from '../schema/migrations.ts';
import { sqlitePart, sqliteSchema } from '../schema/sqlite.ts';
import { sqliteDefinitions } from '../sql/common-sql.ts';
import { sqliteDriver } from './driver.ts';
import { StoreFileError } from './errors.ts';

/** All migrations of a file, oldest first. */
export const migrations: readonly Migration[] = [
  { version: FIRST_VERSION, worksWith: FIRST_VERSION, sql: sqliteSchema },
  ...additions.map(({ version, worksWith, common, sqlite = '' }) => ({
    version,
    worksWith,
    sql: () => sqliteDefinitions(common) + sqlite,
  })),
];

/** Marks a file as ours (`PRAGMA application_id`), so that we never add tables to another program's database. */
const APPLICATION_ID = 0x6d637072; // "mcpr"

/**
 * Checks, without writing, whether this program may use a file.
 *
 * @returns the file's schema version; 0 for an empty file
 * @throws StoreFileError `newer_schema` for a file of a later version, `error` for another program's database and for
 * the incomplete schema of a pre-release
 */
export function checkSchema(
  db: Database,
  path: string,
  parts: readonly PartTables[] = [],
  known: readonly Migration[] = migrations,
): number {
  const version = versionOf(db);
  const latest = known.at(-1)?.version ?? 0;
  const owner = Number(db.pragma('application_id', { simple: true }));
  const empty = version === 0 && owner === 0 && tableCount(db) === 0;
  if (!empty && owner !== APPLICATION_ID) {
    throw new StoreFileError('error', path, 'it is a database of another program; choose another path');
  }
  if (version > latest) {
    const detail = `it has schema version ${version}, this program supports versions up to ${latest}; upgrade mcp-pruner or choose another path`;
    throw new StoreFileError('newer_schema', path, detail);
  }
  if (isPreRelease(version) && !hasFirstSchema(db, parts)) {
    const detail = `it has schema version ${version} of a pre-release, which cannot be upgraded; move it away or choose another path`;
    throw new StoreFileError('error', path, detail);
  }
  return version;
}

/** Migrates a file to the newest schema, each step in its own transaction. Safe for concurrent processes. */
export function migrate(db: Database, known: readonly Migration[] = migrations): void {
  for (const migration of known) {
    if (versionOf(db) >= migration.version) continue;
    const step = db.transaction(() => {
      const version = versionOf(db);
      if (version >= migration.version) return; // another process has already migrated
      if (!isPreRelease(version)) db.exec(migration.sql()); // a pre-release file already has the first schema
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${migration.version}`);
    });
    step.immediate();
  }
}

/** Creates the tables of a part in a file that does not have them yet. */
export function addTables(db: Database, part: PartTables): void {
  if (hasTables(db, part)) return;
  const add = db.transaction(() => {
    if (!hasTables(db, part)) db.exec(sqlitePart(part)); // another process may already have created them
  });
  add.immediate();
}

function hasTables(db: Database, { moved: [[name]] }: PartTables): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").pluck().get(name) !== undefined;
}

function isPreRelease(version: number): boolean {
  return version > 0 && version < FIRST_VERSION;
}

/** Whether a pre-release file has exactly the first schema. */
function hasFirstSchema(db: Database, parts: readonly PartTables[]): boolean {
  const reference = new (sqliteDriver())(':memory:');
  try {
    reference.exec(
      sqliteSchema() +
        parts
          .filter((part) => hasTables(db, part))
          .map(sqlitePart)
          .join(''),
    );
    return shapeOf(db) === shapeOf(reference);
  } finally {
    reference.close();
  }
}

/** Tables with columns, indexes and triggers, normalised for order and SQL spelling. */
function shapeOf(db: Database): string {
  const shape = `
    SELECT m.type, m.name, coalesce(c.name, '') AS "column", coalesce(c.type, '') AS of_type
    FROM sqlite_schema m LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' ORDER BY 1, 2, 3`;
  return JSON.stringify(db.prepare(shape).all());
}

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

function tableCount(db: Database): number {
  return Number(db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get());
}
