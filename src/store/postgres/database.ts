import type { ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import type { Clock } from '../../core/ports.ts';
import { StoreUnavailable } from '../../errors.ts';
import type { StoreLog } from '../store-log.ts';
import { connectionConfig, shownUrl } from './connection-config.ts';
import { failureOf, isAway, mayBeRepeated } from './failures.ts';
import { migrate } from './migrations/migrate.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: StoreLog | undefined;
  /** Connections of this process; a request waits for none of them longer than for an answer. */
  readonly connections?: number;
  /** Nothing is migrated or written. */
  readonly readonly: boolean;
}

/** How long a call that names no limit waits for its answer, the connection included. */
const ANSWER_MS = 1_500;
const CONNECT_MS = 1_500;
/** What the server is given to say itself that it took too long. */
const GRACE_MS = 500;
const IDLE_MS = 300_000;
const CONNECTIONS = 8;
const TRIES = 3;

/** A client inside a transaction, or the pool. */
export interface Queryable {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * Connections to PostgreSQL. While the database is away calls fail at once instead of waiting each for themselves; `retry`
 * finds out whether it is back.
 */
export class Database implements Queryable {
  readonly #options: DatabaseOptions;
  #pool: Promise<Pool> | null = null;
  #migrated = false;
  #away: StoreUnavailable | null = null;
  /** Since when writes or everything fail. */
  #failure: { readonly error: StoreUnavailable; readonly sinceMs: number } | null = null;
  #closed = false;
  #roundTrips = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** How often this process waited for an answer of the database so far. */
  get roundTrips(): number {
    return this.#roundTrips;
  }

  /** Why the database cannot be used or written now, or `null`. */
  get failure(): { readonly error: StoreUnavailable; readonly sinceMs: number } | null {
    return this.#failure;
  }

  /** Whether calls fail at once, because the database was not reached yet or not any more. */
  get isAway(): boolean {
    return this.#away !== null || !this.#migrated;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /**
   * Tries whether the database can be used, migrating it if that was not done yet.
   *
   * @throws StoreUnavailable
   */
  async retry(): Promise<void> {
    this.#refuseClosed();
    try {
      const pool = await this.#open();
      if (!this.#migrated) await this.#migrate(pool);
      else await this.#on(pool, ANSWER_MS, (client) => client.query('SELECT 1'));
      this.#worked(false);
      this.#away = null;
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  /** One statement, which is a transaction of its own. @throws StoreUnavailable */
  async query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    waitMs: number = ANSWER_MS,
  ): Promise<Row[]> {
    return this.#attempt(waitMs, async (client) => (await client.query<Row>(text, [...values])).rows);
  }

  /** As `query`, for a statement that writes: that it worked says that the database can be written. */
  async write<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[],
    waitMs = ANSWER_MS,
  ): Promise<Row[]> {
    this.#refuseReadonly();
    const rows = await this.query<Row>(text, values, waitMs);
    this.#worked(true);
    return rows;
  }

  /** Several statements, all of them or none. Off the request path. @throws StoreUnavailable */
  async transaction<T>(work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    this.#refuseReadonly();
    const result = await this.#within('BEGIN', work, waitMs);
    this.#worked(true);
    return result;
  }

  /** Several statements that read one state of the database. Off the request path. @throws StoreUnavailable */
  snapshot<T>(work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    return this.#within('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work, waitMs);
  }

  #within<T>(begin: string, work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    return this.#attempt(waitMs, async (client) => {
      // in one round trip; both end with the transaction, so that a pooler keeps nothing of them
      const limit = Math.max(1, Math.trunc(waitMs));
      await client.query(`${begin}; SET LOCAL lock_timeout = ${limit}; SET LOCAL statement_timeout = ${limit}`);
      try {
        const done = await work({
          query: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
            (await client.query<Row>(text, [...values])).rows,
        });
        await client.query('COMMIT');
        return done;
      } catch (cause) {
        await client.query('ROLLBACK').catch(() => undefined); // the connection may be what failed
        throw cause;
      }
    });
  }

  /** A connection of its own, to be told of what others did. The caller ends it. */
  async dedicated(): Promise<ClientBase & { end(): Promise<void> }> {
    const { Client } = (await import('pg')).default;
    const client = new Client({
      ...connectionConfig(this.#options.url),
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    client.on('error', () => undefined); // its end follows
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pool = await this.#pool?.catch(() => null); // told to whoever connected
    await pool?.end().catch(() => undefined); // nobody needs it any more
  }

  async #attempt<T>(waitMs: number, work: (client: ClientBase) => Promise<T>): Promise<T> {
    this.#refuseClosed();
    if (this.#away !== null) throw this.#away;
    if (!this.#migrated) throw new StoreUnavailable('unreachable');
    const pool = await this.#open();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#on(pool, waitMs, work);
      } catch (cause) {
        if (tries < TRIES && mayBeRepeated(cause) && !this.#closed) continue;
        throw this.#failed(cause);
      }
    }
  }

  /** Runs work on a connection; one that does not answer in time is cut, and its transaction ends with it. */
  async #on<T>(pool: Pool, waitMs: number, work: (client: ClientBase) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined;
    let timer: NodeJS.Timeout | undefined;
    let late = false;
    const endMs = performance.now() + waitMs;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late = true;
        client?.release(true);
        reject(new StoreUnavailable('unreachable'));
      }, waitMs + GRACE_MS);
    });
    const run = async (): Promise<T> => {
      const connected = await this.#connected(pool, endMs);
      if (late) {
        connected.release();
        throw new StoreUnavailable('unreachable');
      }
      client = connected;
      this.#roundTrips++;
      try {
        const result = await work(connected);
        if (!late) connected.release();
        return result;
      } catch (cause) {
        if (!late) connected.release(isAway(failureOf(cause)));
        throw cause;
      }
    };
    const running = run();
    running.catch(() => undefined); // the limit may have come first
    try {
      return await Promise.race([running, limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** All connections may be busy for a while, which says nothing about the database. */
  async #connected(pool: Pool, endMs: number): Promise<PoolClient> {
    for (;;) {
      const isBusy = pool.idleCount === 0 && pool.totalCount >= pool.options.max;
      try {
        return await pool.connect();
      } catch (cause) {
        if (!isBusy) throw cause;
        if (performance.now() >= endMs) throw new StoreUnavailable('locked', { cause });
      }
    }
  }

  async #open(): Promise<Pool> {
    this.#pool ??= this.#create();
    try {
      return await this.#pool;
    } catch (cause) {
      this.#pool = null;
      throw cause;
    }
  }

  async #create(): Promise<Pool> {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      ...connectionConfig(this.#options.url),
      max: this.#options.connections ?? CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      types: {
        // 64-bit numbers that are counted or measured here are far below what a double holds
        getTypeParser: (oid, format) => (Number(oid) === 20 ? Number : pg.types.getTypeParser(oid, format)),
      },
    });
    pool.on('error', () => undefined); // an idle connection broke; the next call finds out
    pool.on('connect', (client) => {
      client.on('error', () => undefined); // one in use broke; its query fails
    });
    return pool;
  }

  async #migrate(pool: Pool): Promise<void> {
    await this.#on(pool, 60_000, (client) => migrate(client, this.#options.readonly));
    this.#migrated = true;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new StoreUnavailable('closed');
  }

  #refuseReadonly(): void {
    this.#refuseClosed();
    if (this.#options.readonly) throw new StoreUnavailable('readonly');
  }

  #failed(cause: unknown): StoreUnavailable {
    if (this.#closed) return new StoreUnavailable('closed');
    const error = failureOf(cause);
    if (isAway(error)) this.#away = error;
    if (this.#failure?.error.reason !== error.reason) {
      const detail = error.cause instanceof Error ? error.cause.message : error.message;
      this.#options.log?.warn(
        { database: shownUrl(this.#options.url), reason: error.reason, detail },
        'store unavailable',
      );
      this.#failure = { error, sinceMs: this.#options.clock.nowMs() };
    }
    return error;
  }

  /** @param wrote - a write that worked; what only reads says nothing about a full disk */
  #worked(wrote: boolean): void {
    if (this.#failure === null || (!wrote && !isAway(this.#failure.error))) return;
    this.#options.log?.info({ was: this.#failure.error.reason }, 'store back');
    this.#failure = null;
  }
}
