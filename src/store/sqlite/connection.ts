import { accessSync, chmodSync, closeSync, constants, openSync, rmSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import type Database from 'better-sqlite3';
import { errorCode } from '../../base/causes.ts';
import type { PartTables } from '../part-tables.ts';
import { sqliteDriver } from './driver.ts';
import { StoreFileError } from './errors.ts';
import { makeFolder } from './make-folder.ts';
import { addTables, checkSchema, migrate, migrations } from './migrate.ts';
import { type Tables, tablesOn } from './tables.ts';

export interface OpenOptions {
  /** Absolute path, or `:memory:`. */
  readonly path: string;
  /** Creates, migrates and writes nothing. */
  readonly readonly: boolean;
  /** Maximum file size in bytes; 0 for no limit. */
  readonly maxFileBytes: number;
  readonly sync: 'normal' | 'full';
  /** Tables of optional parts. */
  readonly parts: readonly PartTables[];
}

/** SQLite's companion files: the write-ahead log and its index. */
const SIDE_FILES = ['-wal', '-shm'] as const;
/** Log size at which SQLite itself copies the log during a commit. Normally another thread does so earlier. */
const AUTO_CHECKPOINT_PAGES = 16_384;
/** Compressed texts are a few KB and would waste space in larger pages (4096: 10 % more in total). */
const PAGE_BYTES = 2048;
const MIN_CACHE_KIB = 2 * 1024;
/** The default of SQLite's driver. */
const MAX_CACHE_KIB = 16 * 1024;
const CACHE_HEAP_SHARE = 64;
/** Free pages are reused; pages beyond this share and number are returned to the file system. */
const FREE_SHARE = 0.02;
const FREE_PAGES = 64;
/** Log size at which the log should be copied into the file; it is truncated to half of that. */
export const LARGE_LOG_BYTES = 8_388_608;

/** A connection and the identity of its file. */
export class Connection {
  readonly db: Database.Database;
  readonly tables: Tables;
  readonly #path: string;
  readonly #file: string;
  readonly #sides: readonly { readonly path: string; readonly identity: string }[];
  #logBytes = 0;
  readonly #begin;
  readonly #beginRead;
  readonly #commit;
  readonly #rollback;
  readonly #newGeneration;
  readonly #changes;
  readonly #dataVersion;
  readonly #schema: number;

  /**
   * Opens, checks and migrates the file without waiting for locks. Throws errors of SQLite or the file system, or
   * `StoreFileError`.
   */
  constructor(options: OpenOptions) {
    const { path, readonly } = options;
    this.#path = path;
    if (path !== ':memory:' && !readonly) createFile(path);
    this.#file = identity(path); // taken before opening, so that a file replaced in between counts as replaced
    if (readonly && this.#file === '') throw new StoreFileError('error', path, 'there is no such file');
    this.db = new (sqliteDriver())(path, { timeout: 0, readonly, fileMustExist: path !== ':memory:' });
    try {
      prepareDatabase(this.db, options);
      this.tables = tablesOn(this.db);
      this.tables.meter('stored_bytes'); // makes a damaged file fail now
      this.#begin = this.db.prepare('BEGIN IMMEDIATE');
      this.#beginRead = this.db.prepare('BEGIN');
      this.#commit = this.db.prepare('COMMIT');
      this.#rollback = this.db.prepare('ROLLBACK');
      this.#newGeneration = this.db.prepare("UPDATE meter SET value = value + 1 WHERE name = 'deleted_generation'");
      this.#changes = this.db.prepare<[], number>('SELECT total_changes()').pluck();
      this.#dataVersion = this.db.prepare<[], number>('PRAGMA data_version').pluck();
      this.#schema = this.#schemaVersion();
      this.#sides = SIDE_FILES.map((side) => ({ path: path + side, identity: identity(path + side) }));
    } catch (cause) {
      this.db.close();
      throw isOnReadonlyDisk(path) ? new StoreFileError('readonly', path, ON_READONLY_DISK, { cause }) : cause;
    }
  }

  /** Runs synchronous work in one write transaction, all or nothing. */
  write<T>(work: (tables: Tables) => T): T {
    return this.#transaction(this.#begin, work);
  }

  /** Runs synchronous reads on a consistent snapshot of the file. */
  read<T>(work: (tables: Tables) => T): T {
    return this.#transaction(this.#beginRead, work);
  }

  #transaction<T>(begin: Database.Statement, work: (tables: Tables) => T): T {
    begin.run();
    let isCommitting = false;
    try {
      const result = work(this.tables);
      isCommitting = true;
      this.#commit.run();
      return result;
    } catch (cause) {
      this.#rollBack();
      if (isCommitting && begin === this.#begin) this.#overwriteFailedCommit();
      throw cause;
    }
  }

  #rollBack(): void {
    if (this.db.inTransaction) this.#rollback.run(); // after a full disk, SQLite has already rolled back
  }

  /**
   * Writes another commit over one that failed. If only its last sync failed, it is whole in the write-ahead log, and
   * the next process to open the file would find what the caller believes was never stored. The other one only makes processes
   * look up again what they have cached; SQLite writes no row that does not change.
   */
  #overwriteFailedCommit(): void {
    try {
      this.#begin.run();
      this.#newGeneration.run();
      this.#commit.run();
    } catch {
      this.#rollBack(); // its sync fails as well, but its first page is written
    }
  }

  /** Whether tables were created or dropped since the file was opened, also by overwriting it in place. */
  hasOtherTables(): boolean {
    try {
      return this.#schemaVersion() !== this.#schema;
    } catch {
      return true; // the file cannot be read
    }
  }

  #schemaVersion(): number {
    return Number(this.db.pragma('schema_version', { simple: true }));
  }

  /** Whether the path now leads to another file, or to none. */
  replaced(): boolean {
    return this.#path !== ':memory:' && identity(this.#path) !== this.#file;
  }

  /** Whether the write-ahead log was deleted while open; commits then go to an unlinked file. */
  lostLog(): boolean {
    const [log] = this.#sides;
    if (this.#path === ':memory:' || this.db.readonly || !log) return false;
    const stat = statSync(log.path, { throwIfNoEntry: false });
    this.#logBytes = stat?.size ?? 0;
    return identityOf(stat) !== log.identity;
  }

  /** Size of the write-ahead log as of the last `lostLog` call. */
  get logBytes(): number {
    return this.#logBytes;
  }

  /** Copies all commits into the main file; `false` if another process prevents it. */
  checkpoint(): boolean {
    const row = this.db.prepare<[], { busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)').get();
    return row?.busy === 0;
  }

  /**
   * Writes all pages anew. Only this removes deleted content: when SQLite moves rows between pages, their copies remain
   * in the unused part of the old page, despite `secure_delete`.
   */
  rewrite(): void {
    this.db.exec('VACUUM');
  }

  /** Releases surplus free pages to the file system; returns their number. */
  shrink(atMost: number): number {
    const free = Number(this.db.pragma('freelist_count', { simple: true }));
    const pages = Number(this.db.pragma('page_count', { simple: true }));
    if (free <= Math.max(FREE_PAGES, pages * FREE_SHARE)) return 0;
    this.db.exec(`PRAGMA incremental_vacuum(${atMost})`);
    return Math.min(free, atMost);
  }

  /** Changes after a commit of another connection. */
  commitsOfOthers(): number {
    return this.#dataVersion.get() ?? 0;
  }

  /** Number of rows changed by this connection so far. */
  changes(): number {
    return this.#changes.get() ?? 0;
  }

  /**
   * Closes the connection. If the file was replaced, deletes our companion files, because SQLite would replay our log
   * into the new file.
   */
  close(): void {
    const replaced = this.replaced();
    this.db.close();
    if (!replaced || this.db.readonly) return;
    for (const side of this.#sides) {
      if (side.identity !== '' && identity(side.path) === side.identity) rmSync(side.path, { force: true });
    }
  }
}

/** The identity of the file at a path; `''` if there is none. */
function identity(path: string): string {
  return identityOf(statSync(path, { throwIfNoEntry: false }));
}

function identityOf(stat: Stats | undefined): string {
  return stat ? `${stat.dev}:${stat.ino}` : '';
}

const ON_READONLY_DISK =
  'it is on a read-only file system, and SQLite creates files next to it even for reading; use a copy on another file system';

/** Whether the file is on a read-only disk, which SQLite reports only as a file that cannot be opened. */
function isOnReadonlyDisk(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK);
    return false;
  } catch (cause) {
    return errorCode(cause) === 'EROFS';
  }
}

/** Creates an empty file, readable only by its owner, unless it exists. SQLite's companion files inherit its mode. */
function createFile(path: string): void {
  makeFolder(dirname(path));
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
    unlockSides(path);
    return;
  }
  // leftovers of a deleted database; another process may still have them open
  for (const side of SIDE_FILES) rmSync(path + side, { force: true });
}

/** Makes companion files writable: those created while the file was read-only stay read-only. */
function unlockSides(path: string): void {
  const { mode } = statSync(path);
  for (const side of SIDE_FILES) {
    const stat = statSync(path + side, { throwIfNoEntry: false });
    if (stat && (mode & 0o200) > (stat.mode & 0o200)) chmodSync(path + side, mode & 0o777);
  }
}

/** Size of the page cache in KiB; small if the process has a small heap. */
function cacheKib(): number {
  const share = getHeapStatistics().heap_size_limit / CACHE_HEAP_SHARE / 1024;
  return Math.round(Math.min(MAX_CACHE_KIB, Math.max(MIN_CACHE_KIB, share)));
}

function prepareDatabase(db: Database.Database, { path, readonly, maxFileBytes, sync, parts }: OpenOptions): void {
  const version = checkSchema(db, path); // first of all: the file may belong to another program
  db.pragma(`cache_size = -${cacheKib()}`);
  db.pragma('foreign_keys = ON');
  db.pragma('trusted_schema = OFF');
  const latest = migrations.at(-1)?.version ?? 0;
  if (readonly) {
    if (version < latest) {
      throw new StoreFileError('error', path, `it has the older schema version ${version}; start the server once`);
    }
    return;
  }
  if (version === 0) {
    db.pragma(`page_size = ${PAGE_BYTES}`); // these pragmas have no effect on existing databases
    db.pragma('auto_vacuum = INCREMENTAL');
  }
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${sync}`);
  db.pragma(`wal_autocheckpoint = ${AUTO_CHECKPOINT_PAGES}`);
  db.pragma(`journal_size_limit = ${LARGE_LOG_BYTES / 2}`);
  if (maxFileBytes > 0) {
    const pageSize = Number(db.pragma('page_size', { simple: true }));
    db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxFileBytes / pageSize))}`);
  }
  // deleted content must not remain in free pages; this doubles the write cost of deletions, off the request path
  db.pragma('secure_delete = ON');
  if (version < latest) migrate(db);
  for (const part of parts) addTables(db, part);
}
