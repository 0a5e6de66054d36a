import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { StoreFileError } from './errors.ts';
import { checkSchema, migrate, migrations } from './migrations/migrate.ts';
import { prepareTables, type Tables } from './tables.ts';

export interface OpenOptions {
  /** Absolute, or `:memory:`. */
  readonly path: string;
  /** Nothing is created, migrated or written. */
  readonly readonly: boolean;
  /** Largest size of the file in bytes; 0 for none. */
  readonly maxFileBytes: number;
}

/** SQLite copies what was written back into the file by itself only past this; the sweep does it before. */
const AUTO_CHECKPOINT_PAGES = 8192;
/** Size to which the write-ahead log shrinks after a burst. */
const LOG_BYTES = 4_194_304;

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** A connection and the identity of the file it was opened on. */
export class Connection {
  readonly db: Database.Database;
  readonly tables: Tables;
  readonly #path: string;
  readonly #file: string;
  readonly #log: string;
  readonly #begin;
  readonly #beginRead;
  readonly #commit;
  readonly #rollback;

  /** Opens, checks and migrates. Never waits for a lock. Throws what SQLite or the file system throws, or `StoreFileError`. */
  constructor({ path, readonly, maxFileBytes }: OpenOptions) {
    this.#path = path;
    if (path !== ':memory:' && !readonly) createFile(path);
    this.#file = identity(path); // before opening: a file put there in between counts as replaced
    if (readonly && this.#file === '') throw new StoreFileError('error', path, 'there is no such file');
    this.db = new Database(path, { timeout: 0, readonly, fileMustExist: path !== ':memory:' });
    try {
      prepareDatabase(this.db, path, readonly, maxFileBytes);
      this.tables = prepareTables(this.db);
      this.#begin = this.db.prepare('BEGIN IMMEDIATE');
      this.#beginRead = this.db.prepare('BEGIN');
      this.#commit = this.db.prepare('COMMIT');
      this.#rollback = this.db.prepare('ROLLBACK');
      this.#log = identity(`${path}-wal`);
    } catch (cause) {
      this.db.close();
      throw cause;
    }
  }

  /** Runs synchronous work in one write transaction: all of it or nothing. */
  write<T>(work: (tables: Tables) => T): T {
    return this.#transaction(this.#begin, work);
  }

  /** Runs synchronous reads on one state of the file. */
  read<T>(work: (tables: Tables) => T): T {
    return this.#transaction(this.#beginRead, work);
  }

  #transaction<T>(begin: Database.Statement, work: (tables: Tables) => T): T {
    begin.run();
    try {
      const result = work(this.tables);
      this.#commit.run();
      return result;
    } catch (cause) {
      if (this.db.inTransaction) this.#rollback.run(); // a full disk has rolled back by itself
      throw cause;
    }
  }

  /** Whether the path leads to another file than the one that is open, or to none. */
  replaced(): boolean {
    return this.#path !== ':memory:' && identity(this.#path) !== this.#file;
  }

  /** Whether the write-ahead log was deleted under way; what is committed then lives in an unlinked file. */
  lostLog(): boolean {
    return this.#path !== ':memory:' && !this.db.readonly && identity(`${this.#path}-wal`) !== this.#log;
  }

  /**
   * Copies what was committed into the main file, as far as other processes let it; two fsyncs at most.
   *
   * @returns whether all of it is there now
   */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): boolean {
    const row = this.db.prepare<[], CheckpointRow>(`PRAGMA wal_checkpoint(${mode})`).get();
    return row !== undefined && row.busy === 0 && row.checkpointed >= row.log;
  }

  close(): void {
    this.db.close();
  }
}

/** Which file a path leads to; `''` when to none. */
function identity(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.dev}:${stat.ino}` : '';
}

/** Makes an empty file that only its owner can read, unless there is one; SQLite's side files inherit its mode. */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return;
    throw cause;
  }
  // left behind when a database was deleted without them; another process may still hold them open
  rmSync(`${path}-wal`, { force: true });
  rmSync(`${path}-shm`, { force: true });
}

function prepareDatabase(db: Database.Database, path: string, readonly: boolean, maxFileBytes: number): void {
  const version = checkSchema(db, path); // before anything is written: the file may be another program's
  db.pragma('foreign_keys = ON');
  db.pragma('trusted_schema = OFF');
  const latest = migrations.at(-1)?.version ?? 0;
  if (readonly) {
    if (version < latest) {
      throw new StoreFileError('error', path, `it has the older schema version ${version}; start the server once`);
    }
    return;
  }
  if (version === 0) db.pragma('auto_vacuum = INCREMENTAL'); // has no effect once there is a page
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma(`wal_autocheckpoint = ${AUTO_CHECKPOINT_PAGES}`);
  db.pragma(`journal_size_limit = ${LOG_BYTES}`);
  if (maxFileBytes > 0) {
    const pageSize = Number(db.pragma('page_size', { simple: true }));
    db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxFileBytes / pageSize))}`);
  }
  if (version < latest) migrate(db);
}
