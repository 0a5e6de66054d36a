import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/ports.ts';
import { StoreUnavailable } from '../../errors/errors.ts';
import { type Expiring, type Lifetimes, PendingUses, type Use } from '../lifetimes.ts';
import type { Rows } from '../sql/steps.ts';
import { type Connection, LARGE_LOG_BYTES } from './connection.ts';
import type { Checkpointer, ConnectionHolder } from './connection-holder.ts';
import { classify } from './errors.ts';
import type { Tables } from './tables.ts';

/** Default wait for a lock held by another process, in milliseconds. */
const READ_WAIT_MS = 250;
const WRITE_WAIT_MS = 2_000;
/** Wait off the request path, long enough for a backup or an inspection of the file. */
export const BACKGROUND_WAIT_MS = 5_000;
/** Wait of a write after one that another process did not let through; longer than an ordinary transaction. */
const LOCKED_WAIT_MS = 50;
const MAX_PAUSE_MS = 20;
/** Maximum number of pending uses written by one transaction on the request path. */
const USES_PER_WRITE = 200;

/** Synchronous work on the tables inside a transaction; `nowMs` is the clock in whole milliseconds. */
export type Work<T> = (tables: Tables, nowMs: number) => T;

interface ReadOptions {
  readonly waitMs?: number;
  /** First verify that the path still leads to the connection's file. */
  readonly verify?: boolean;
}

export interface WriteOptions extends ReadOptions {
  /** Maximum number of pending uses to write in the same transaction. */
  readonly uses?: number;
  /** The write enlarges the file, so its success proves that there is room. */
  readonly enlargesFile?: boolean;
}

interface AccessOptions {
  readonly holder: ConnectionHolder;
  readonly clock: Clock;
  readonly lifetimes: Lifetimes;
  /** Makes every write fail with `readonly`. */
  readonly readonly: boolean;
  /** Copies a large write-ahead log into the database file. */
  readonly checkpointer: Checkpointer | null;
  /** Called after each write transaction. */
  readonly onWritten: () => void;
}

/** Reads and writes that wait for other processes without blocking the event loop, and that record uses. */
export class Access implements Rows {
  readonly #holder: ConnectionHolder;
  readonly #clock: Clock;
  readonly #readonly: boolean;
  readonly #checkpointer: Checkpointer | null;
  readonly #onWritten: () => void;
  readonly #uses: PendingUses;

  constructor(options: AccessOptions) {
    this.#holder = options.holder;
    this.#clock = options.clock;
    this.#readonly = options.readonly;
    this.#checkpointer = options.checkpointer;
    this.#onWritten = options.onWritten;
    this.#uses = new PendingUses(options.lifetimes, options.readonly);
  }

  nowMs(): number {
    return Math.trunc(this.#clock.nowMs());
  }

  /** Number of recorded uses not yet written. */
  get usesWaiting(): number {
    return this.#uses.size;
  }

  /** Whether an item is alive; if so, records its use. `storedMs` is its expiry in the file, if it exists. */
  use(kind: Expiring, id: string, storedMs: number | undefined, nowMs: number): boolean {
    return this.#uses.use(kind, id, storedMs, nowMs);
  }

  /** The effective expiry, including pending uses. */
  expiry(kind: Expiring, id: string, storedMs: number): number {
    return this.#uses.expiry(kind, id, storedMs);
  }

  async all<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.readOnce(({ sql: statements }) => statements.allOf<Row>(sql, values));
  }

  /** Reads a consistent snapshot of the file. */
  async read<T>(work: Work<T>, options?: ReadOptions): Promise<T> {
    return this.readNow(work, options);
  }

  /** Like `read`, with a promise only if the file is locked. */
  readNow<T>(work: Work<T>, { waitMs = READ_WAIT_MS, verify = false }: ReadOptions = {}): T | Promise<T> {
    return this.attempt(waitMs, () =>
      this.#holder.repeated(() => {
        const connection = verify ? this.#holder.verified() : this.#holder.connection();
        return connection.read((tables) => work(tables, this.nowMs()));
      }),
    );
  }

  /** Like `readNow`, with a single statement, which needs no transaction for consistency. */
  readOnce<T>(work: Work<T>): T | Promise<T> {
    return this.attempt(READ_WAIT_MS, () =>
      this.#holder.repeated(() => work(this.#holder.connection().tables, this.nowMs())),
    );
  }

  /** Runs the work in one durable transaction, all or nothing. */
  async write<T>(work: Work<T>, options?: WriteOptions): Promise<T> {
    return this.writeNow(work, options);
  }

  /** Like `write`, with a promise only if the file is locked. */
  writeNow<T>(
    work: Work<T>,
    { waitMs = WRITE_WAIT_MS, verify = false, uses = USES_PER_WRITE, enlargesFile = false }: WriteOptions = {},
  ): T | Promise<T> {
    const attempt = () => {
      const connection = verify ? this.#holder.verified(true) : this.#holder.connection();
      if (connection.logBytes > LARGE_LOG_BYTES) this.#checkpointer?.kick();
      const result = this.#write(connection, work, uses);
      this.#holder.worked(enlargesFile);
      return result;
    };
    return this.attempt(this.#patience(waitMs), attempt, (cause) =>
      this.#readonly ? this.#holder.failed(cause) : this.#holder.writeFailed(cause),
    );
  }

  /**
   * Flushes pending last-used times if the lock is free; otherwise keeps them, so that a read never fails because of
   * this write.
   */
  writeUses(): void {
    if (this.#uses.size === 0) return;
    try {
      this.#write(this.#holder.connection(), () => undefined, USES_PER_WRITE);
      this.#holder.worked(false);
    } catch (cause) {
      if (classify(cause).error.reason !== 'locked') this.#holder.failed(cause);
    }
  }

  /**
   * Retries until another process releases its lock or `waitMs` have passed.
   *
   * @throws StoreUnavailable
   */
  attempt<T>(
    waitMs: number,
    work: () => T,
    failed = (cause: unknown): StoreUnavailable => this.#holder.failed(cause),
  ): T | Promise<T> {
    try {
      return work();
    } catch (cause) {
      if (waitMs <= 0 || classify(cause).error.reason !== 'locked') throw failed(cause);
      return this.#attemptAgain(performance.now() + waitMs, work, failed);
    }
  }

  async #attemptAgain<T>(endMs: number, work: () => T, failed: (cause: unknown) => StoreUnavailable): Promise<T> {
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      await sleep(Math.max(0, Math.min(pauseMs, endMs - performance.now())));
      try {
        return work();
      } catch (cause) {
        const isLate = performance.now() >= endMs;
        if (isLate || classify(cause).error.reason !== 'locked') throw failed(cause);
      }
    }
  }

  /** Requests wait for a locked file once. Until a write succeeds, further ones hardly wait, unless in the background. */
  #patience(waitMs: number): number {
    const isLocked = this.#holder.writeFailure?.error.reason === 'locked';
    return isLocked && waitMs !== BACKGROUND_WAIT_MS ? Math.min(waitMs, LOCKED_WAIT_MS) : waitMs;
  }

  /** Like `attempt`, but with the connection itself and outside a transaction. */
  async maintain<T>(work: (connection: Connection) => T): Promise<T> {
    return this.attempt(WRITE_WAIT_MS, () => work(this.#holder.connection()));
  }

  /** Writes earlier uses first, because the work may check expiries, then the uses recorded by the work. */
  #write<T>(connection: Connection, work: Work<T>, limit: number): T {
    if (this.#readonly) throw new StoreUnavailable('readonly');
    const before = new Set(this.#uses.pending(limit));
    let after = [...before];
    const result = connection.write((tables) => {
      writeAll(tables, before);
      const worked = work(tables, this.nowMs());
      after = this.#uses.pending(limit).filter((use) => !before.has(use));
      writeAll(tables, after);
      return worked;
    });
    this.#uses.written(before);
    this.#uses.written(after);
    this.#onWritten();
    return result;
  }
}

const MOVE_EXPIRY: Readonly<Record<Expiring, string>> = {
  prune: 'UPDATE prune SET expires_ms = max(expires_ms, ?) WHERE prune_id = ?',
  whole: 'UPDATE decision SET expires_ms = max(expires_ms, ?) WHERE key = ? AND prune IS NULL',
  served: 'UPDATE served SET expires_ms = max(expires_ms, ?) WHERE hash = ?',
  sent: 'UPDATE sent SET expires_ms = max(expires_ms, ?) WHERE prefix = ?',
};

function writeAll({ sql }: Tables, uses: Iterable<Use>): void {
  for (const { kind, id, expiresMs } of uses) sql.run(MOVE_EXPIRY[kind], [expiresMs, id]);
}
