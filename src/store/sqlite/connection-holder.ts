import { Worker } from 'node:worker_threads';
import { errorCode, messageOf } from '../../base/causes.ts';
import type { Clock } from '../../core/ports.ts';
import { isUnwritable, StoreUnavailable } from '../../errors/errors.ts';
import type { StoreLog } from '../store-log.ts';
import { Connection, type OpenOptions } from './connection.ts';
import { driverFile } from './driver.ts';
import { classify, isMissingName, StoreFileError } from './errors.ts';

/** Reason and start of a store failure. */
interface StoreFailure {
  readonly error: StoreUnavailable;
  /** Epoch milliseconds. */
  readonly sinceMs: number;
}

/** Interval of attempts to open the file; shorter after a mere lock conflict. */
const REOPEN_MS = 500;
const REOPEN_LOCKED_MS = 20;
/** Reasons of write failures that only a write which enlarges the file disproves. */
const DISK_REASONS: ReadonlySet<string> = new Set(['full', 'error']);

/** The message of an error with SQLite's code, which names the call that failed. */
function detailOf(cause: unknown): string {
  const code = errorCode(cause);
  return code.startsWith('SQLITE_') ? `${messageOf(cause)} (${code})` : messageOf(cause);
}

/**
 * Maintains a connection to the store's file: opens it on demand, reopens it after a replacement or a fault, and
 * recovers without a restart.
 */
export class ConnectionHolder {
  readonly #options: OpenOptions;
  readonly #log: StoreLog | undefined;
  readonly #clock: Clock;
  #connection: Connection | null = null;
  /** Why there is no connection, or why it should be replaced (reads may still work). */
  #problem: StoreUnavailable | null = null;
  #retryAtMs = 0;
  /** When the file may next be opened again at once after a fault. */
  #renewableAtMs = 0;
  /** The current write failure; cleared by the first successful write. */
  #writes: StoreFailure | null = null;
  #serial = 0;
  #reported = '';
  #closed = false;

  constructor(options: OpenOptions, clock: Clock, log: StoreLog | undefined) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Counts connections; a different number may mean a different file. */
  get serial(): number {
    return this.#serial;
  }

  /** Why the file cannot be used or written now, or `null`. Tries to open it if an attempt is due. */
  problem(): StoreUnavailable | null {
    try {
      this.connection();
    } catch (cause) {
      return classify(cause).error;
    }
    return this.#problem ?? this.#writes?.error ?? null;
  }

  /** Reason and start of the current write failure, or `null`. */
  get writeFailure(): StoreFailure | null {
    return this.#writes;
  }

  /**
   * The open connection.
   *
   * @throws StoreUnavailable with the reason of the last attempt; a new attempt is made when it is due
   */
  connection(): Connection {
    if (this.#closed) throw new StoreUnavailable('closed');
    if (this.#problem !== null) {
      if (performance.now() >= this.#retryAtMs) this.#drop();
      else if (this.#connection === null) throw this.#problem;
    }
    return this.#connection ?? this.#open();
  }

  /**
   * The open connection, after checking with one `stat` each that the path still leads to its file and, for a write,
   * that the write-ahead log exists.
   */
  verified(forWrite = false): Connection {
    const connection = this.connection();
    const replaced = connection.replaced();
    if (!replaced && !(forWrite && connection.lostLog())) return connection;
    // if only the log is gone, copies the commits into the file before closing the unlinked log
    if (!replaced && !connection.checkpoint()) return connection;
    this.#log?.warn({ path: this.#options.path, replaced }, 'store file deleted or replaced, reopening it');
    this.#drop();
    return this.#open();
  }

  /**
   * Runs a read, and repeats it once if it fails for a reason for which the file is opened again: a history that cannot
   * be read goes out whole, which its provider may refuse. Not for writes: one whose last sync failed may be in the file.
   */
  repeated<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!this.#isOfFile(cause)) throw cause;
      this.failed(cause);
      return read();
    }
  }

  /** Records a failure of a connection; returns it as `StoreUnavailable`. */
  failed(cause: unknown): StoreUnavailable {
    const { error } = classify(cause);
    if (error.reason === 'closed' || isUnwritable(error)) return error;
    this.#report(error);
    // further failures of the same connection must not postpone the next attempt
    if (!this.#closed && this.#problem === null && this.#isOfFile(cause)) {
      this.#suspend(error);
      if (error.reason !== 'readonly') {
        this.#drop();
        if (this.#mayRenew()) this.#retryAtMs = 0;
      }
    }
    return error;
  }

  /** Whether to open the file again after a failure. One statement that is wrong by itself costs no other request its history. */
  #isOfFile(cause: unknown): boolean {
    return classify(cause).reopen && !(isMissingName(cause) && this.#connection?.hasOtherTables() === false);
  }

  /** Whether the file may be opened again at once: a disk that fails a single call should not cost half a second. */
  #mayRenew(): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#renewableAtMs) return false;
    this.#renewableAtMs = nowMs + REOPEN_MS;
    return true;
  }

  /** Like `failed`, for a write: the store then reports that it cannot be written. */
  writeFailed(cause: unknown): StoreUnavailable {
    const error = this.failed(cause);
    if (error.reason === 'closed' || isUnwritable(error)) return error;
    const sinceMs = this.#writes?.error.reason === error.reason ? this.#writes.sinceMs : this.#clock.nowMs();
    this.#writes = { error, sinceMs };
    return error;
  }

  /**
   * Records a successful write.
   *
   * @param enlargedFile - the write enlarged the file; a write in place says nothing about a full or failing disk
   */
  worked(enlargedFile: boolean): void {
    if (!enlargedFile && DISK_REASONS.has(this.#writes?.error.reason ?? '')) return;
    this.#writes = null;
    if (this.#reported === '') return;
    this.#log?.info({ path: this.#options.path, was: this.#reported }, 'store back');
    this.#reported = '';
  }

  close(): void {
    this.#closed = true;
    this.#emptyLog();
    this.#drop();
  }

  /**
   * Copies the write-ahead log into the file and empties it. SQLite does this only when the last connection closes, but
   * texts must not remain in the log just because another process has the file open.
   */
  #emptyLog(): void {
    const connection = this.#connection;
    if (connection === null || this.#options.readonly) return;
    try {
      connection.checkpoint();
    } catch (cause) {
      this.#log?.warn(
        { path: this.#options.path, reason: classify(cause).error.reason, detail: detailOf(cause) },
        'write-ahead log not emptied',
      );
    }
  }

  #open(): Connection {
    try {
      this.#connection = new Connection(this.#options);
    } catch (cause) {
      const problem = this.#describe(cause);
      if (classify(cause).reopen && this.#mayRenew()) {
        this.#report(problem);
        return this.#open();
      }
      this.#suspend(problem);
      throw problem;
    }
    this.#serial++;
    this.#problem = null;
    return this.#connection;
  }

  #describe(cause: unknown): StoreUnavailable {
    const { error } = classify(cause);
    if (error instanceof StoreFileError || error.reason === 'locked') return error;
    const detail = detailOf(cause);
    return new StoreFileError(error.reason, this.#options.path, detail, { cause });
  }

  #suspend(problem: StoreUnavailable): void {
    this.#problem = problem;
    this.#retryAtMs = performance.now() + (problem.reason === 'locked' ? REOPEN_LOCKED_MS : REOPEN_MS);
  }

  #report(problem: StoreUnavailable): void {
    if (this.#reported === problem.reason) return;
    this.#reported = problem.reason;
    const detail = problem.cause === undefined ? problem.message : detailOf(problem.cause);
    this.#log?.warn({ path: this.#options.path, reason: problem.reason, detail }, 'store unavailable');
  }

  #drop(): void {
    const connection = this.#connection;
    this.#connection = null;
    try {
      connection?.close();
    } catch (cause) {
      this.#log?.warn(
        { path: this.#options.path, reason: classify(cause).error.reason, detail: detailOf(cause) },
        'store did not close cleanly',
      );
    }
  }
}

/**
 * The worker's program, as a string to avoid locating a built file. Its last step truncates the log and blocks writers
 * meanwhile, so it runs only when hardly anything was written during the copying.
 */
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(workerData.driver);
  const checkpoint = () => {
    const db = new Database(workerData.path, { timeout: 0, fileMustExist: true });
    try {
      let before = 0;
      for (let round = 0; round < 4; round++) {
        const [{ busy, log, checkpointed }] = db.pragma('wal_checkpoint(PASSIVE)');
        if (busy !== 0 || log <= 0 || checkpointed < log) return;
        if (log - before < 200) return void db.pragma('wal_checkpoint(TRUNCATE)');
        before = log;
      }
    } finally {
      db.close();
    }
  };
  parentPort.on('message', (close) => {
    if (close) return parentPort.close();
    let problem = '';
    try {
      checkpoint();
    } catch (cause) {
      problem = cause.message + ' (' + cause.code + ')';
    }
    parentPort.postMessage(problem);
  });
`;

/**
 * Copies the write-ahead log into the file on a separate thread, because the final fsyncs can be slow and must not
 * block the event loop.
 */
export class Checkpointer {
  readonly #path: string;
  readonly #log: StoreLog | undefined;
  #worker: Worker | null = null;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(path: string, log?: StoreLog) {
    this.#path = path;
    this.#log = log;
  }

  /** Starts a checkpoint unless one is running. */
  kick(): void {
    if (this.#running === null) void this.run();
  }

  /** Resolves after a checkpoint of everything committed before the call, successful or not. */
  async run(): Promise<void> {
    while (this.#running !== null) await this.#running;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    const worker = this.#worker;
    if (!worker) return;
    worker.ref(); // keeps the process alive while the caller waits
    await new Promise<void>((done) => {
      worker.once('exit', () => done());
      worker.postMessage(true);
    });
  }

  async #run(): Promise<void> {
    const worker = this.#worker ?? this.#start();
    if (!worker) return;
    worker.ref();
    await new Promise<void>((done) => {
      const finish = (detail: unknown) => {
        worker.off('message', finish).off('exit', finish);
        // a locked log is copied later, and so is one that failed: every commit is in it
        if (typeof detail === 'string' && detail !== '' && !/SQLITE_(?:BUSY|CANTOPEN)/.test(detail))
          this.#log?.warn({ path: this.#path, detail }, 'write-ahead log not copied');
        done();
      };
      worker.once('message', finish).once('exit', finish);
      worker.postMessage(false);
    });
    worker.unref();
  }

  /** Returns `null` if the worker cannot start; SQLite then copies the log itself once it is large. */
  #start(): Worker | null {
    if (this.#closed) return null;
    try {
      const driver = driverFile();
      const worker = new Worker(PROGRAM, {
        eval: true,
        workerData: { driver, path: this.#path },
        resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
      });
      worker.unref();
      worker.on('error', () => undefined); // an 'exit' event follows
      worker.on('exit', () => {
        this.#worker = null;
      });
      this.#worker = worker;
      return worker;
    } catch {
      return null;
    }
  }
}
