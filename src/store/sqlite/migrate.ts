import type { Database } from 'better-sqlite3';
import type { PartTables } from '../part-tables.ts';
import { additions, FIRST_VERSION, type Migration, UPGRADED_VERSION, upgrade } from '../schema/migrations.ts';
import { sqlitePart, sqliteSchema, sqliteUpgrade } from '../schema/sqlite.ts';
import { sqliteDefinitions } from '../sql/common-sql.ts';
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
 * the schema of a pre-release
 */
export function checkSchema(db: Database, path: string, known: readonly Migration[] = migrations): number {
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
  if (version > 0 && version < UPGRADED_VERSION) {
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
      db.exec(version === UPGRADED_VERSION ? sqliteUpgrade() + sqliteDefinitions(upgrade) : migration.sql());
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

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

function tableCount(db: Database): number {
  return Number(db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get());
}
