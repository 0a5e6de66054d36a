import type { ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import type { Clock } from '../../../core/ports.ts';
import { StoreUnavailable } from '../../../errors/errors.ts';
import type { PartTables } from '../../../store/part-tables.ts';
import type { StoreLog } from '../../../store/store-log.ts';
import { connectionConfig, shownUrl } from './connection-config.ts';
import { failureOf, isAway, isExhausted, mayBeRepeated } from './failures.ts';
import { migrate } from './migrate.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: StoreLog | undefined;
  /** Maximum number of connections of this process. A request waits for a connection no longer than for an answer. */
  readonly connections?: number;
  /** Migrates and writes nothing. */
  readonly readonly: boolean;
  /** How long calls wait during an outage, in milliseconds; default: 3 seconds. */
  readonly patienceMs?: number;
  /** Called when the database becomes unreachable; the caller should then call `retry` soon. */
  readonly onAway?: () => void;
  /** The tables of optional parts. Default: none. */
  readonly parts?: readonly PartTables[];
}

/** Default time limit of a call, including connecting, in milliseconds. */
const ANSWER_MS = 1_500;
const CONNECT_MS = 1_500;
/** Extra time in which the server can report its own time-out. */
const GRACE_MS = 500;
const IDLE_MS = 300_000;
const CONNECTIONS = 8;
/** How long a process uses only its existing connections after the database refused more. */
const GROW_AGAIN_MS = 10_000;
const TRIES = 3;
/** Long enough for a restart, and shorter than the time limit of a request (three times `timeout_ms`). */
const PATIENCE_MS = 3_000;

/** A client inside a transaction, or the pool. */
export interface Queryable {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** Whether a call may be repeated although the first attempt may have arrived. */
type MayRepeat = () => boolean;
const ALWAYS: MayRepeat = () => true;
const NEVER: MayRepeat = () => false;

/**
 * Connections to PostgreSQL. Calls wait during a short outage (a restart, a broken connection), because only the
 * database has a conversation's earlier cuts, and forwarding previously cut text unchanged costs the provider's cache.
 * During a longer outage calls fail at once; `retry` finds out whether it is over.
 */
export class Database implements Queryable {
  readonly #options: DatabaseOptions;
  #pool: Promise<Pool> | null = null;
  #migrated = false;
  #away: StoreUnavailable | null = null;
  /**
   * Start of the outage, by `performance.now()`: when the failed call began, or when the last call was answered if that
   * was later.
   */
  #awaySinceMs = 0;
  /** Time of the last answer, by `performance.now()`. */
  #answeredMs = 0;
  readonly #waiting = new Set<() => void>();
  /** Why and since when writes, or all calls, fail. */
  #failure: { readonly error: StoreUnavailable; readonly sinceMs: number } | null = null;
  #closed = false;
  #roundTrips = 0;
  /** When to request more connections again, by `performance.now()`. */
  #growAtMs = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** Number of round trips of this process so far. */
  get roundTrips(): number {
    return this.#roundTrips;
  }

  /** Why the database cannot be used or written now, or `null`. */
  get failure(): { readonly error: StoreUnavailable; readonly sinceMs: number } | null {
    return this.#failure;
  }

  /** Whether calls fail at once, because the database was never reached or is away. */
  get isAway(): boolean {
    return this.#away !== null || !this.#migrated;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether a call made now would wait for the database to return: true in the first moments of an outage. */
  get isAwaited(): boolean {
    return this.#patienceLeftMs > 0;
  }

  /** Whether any caller is waiting right now, including those of `untilBack`. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Resolves when the database is reachable, at the latest `ms` milliseconds after it went away; returns whether it is.
   */
  async untilBack(ms: number): Promise<boolean> {
    const leftMs = this.#awaySinceMs + ms - performance.now();
    if (this.isAway && !this.#closed && leftMs > 0) await this.#untilWoken(leftMs);
    return !this.isAway && !this.#closed;
  }

  /**
   * Tests whether the database can be used, and migrates it if necessary.
   *
   * @throws StoreUnavailable
   */
  async retry(): Promise<void> {
    this.#refuseClosed();
    try {
      const pool = await this.#open();
      if (!this.#migrated) await this.#migrate(pool);
      else await this.#on(pool, ANSWER_MS, (client) => client.query('SELECT 1'));
      this.#away = null;
      this.#worked(false);
      this.#wake();
    } catch (cause) {
      throw this.#failed(cause, performance.now());
    }
  }

  /** One statement as its own transaction, which may be executed twice. @throws StoreUnavailable */
  async query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    waitMs: number = ANSWER_MS,
  ): Promise<Row[]> {
    return this.#attempt(waitMs, ALWAYS, (client) => alone<Row>(client, text, values, waitMs));
  }

  /**
   * As `query`, for a write: its success shows that the database is writable.
   *
   * @param again - `repeatable`: idempotent, so it is repeated if the connection breaks
   */
  async write<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[],
    waitMs = ANSWER_MS,
    again: 'once' | 'repeatable' = 'once',
  ): Promise<Row[]> {
    this.#refuseReadonly();
    const mayRepeat = again === 'repeatable' ? ALWAYS : NEVER;
    const rows = await this.#attempt(waitMs, mayRepeat, (client) => alone<Row>(client, text, values, waitMs));
    this.#worked(true);
    return rows;
  }

  /** Several statements, all or none. Off the request path. @throws StoreUnavailable */
  async transaction<T>(work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    this.#refuseReadonly();
    const result = await this.#within('BEGIN', work, waitMs);
    this.#worked(true);
    return result;
  }

  /** Several reads of one consistent state. Off the request path. @throws StoreUnavailable */
  snapshot<T>(work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    return this.#within('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work, waitMs);
  }

  #within<T>(begin: string, work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    let isCommitting = false;
    const mayRepeat = (): boolean => !isCommitting;
    return this.#attempt(waitMs, mayRepeat, async (client) => {
      isCommitting = false;
      await client.query(beginWithin(waitMs, begin));
      try {
        const done = await work({
          query: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
            (await client.query<Row>(text, [...values])).rows,
        });
        isCommitting = true;
        await client.query('COMMIT');
        return done;
      } catch (cause) {
        await client.query('ROLLBACK').catch(() => undefined); // the connection itself may have failed
        throw cause;
      }
    });
  }

  /** A dedicated connection for notifications. The caller ends it. */
  async dedicated(): Promise<ClientBase & { end(): Promise<void> }> {
    const { Client } = (await import('pg')).default;
    const client = new Client({
      ...connectionConfig(this.#options.url),
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    client.on('error', () => undefined); // 'end' follows
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    const pool = await this.#pool?.catch(() => null); // its first caller handles the error
    await pool?.end().catch(() => undefined); // no longer needed
  }

  async #attempt<T>(waitMs: number, mayRepeat: MayRepeat, work: (client: ClientBase) => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    let mayBeDone = false;
    for (let tries = 1; ; tries++) {
      await this.#reachable();
      const pool = await this.#open();
      let isSent = false;
      try {
        return await this.#on(pool, waitMs, (client) => {
          isSent = true;
          return work(client);
        });
      } catch (cause) {
        if (tries < TRIES && mayBeRepeated(cause) && !this.#closed) continue;
        const error = this.#failed(cause, beganMs);
        mayBeDone ||= isSent && (error === cause || error.reason === 'unreachable'); // the server itself sent no error
        error.mayBeDone = mayBeDone;
        const isInTime = performance.now() < beganMs + this.#patienceMs;
        if (error.reason !== 'unreachable' || (isSent && !mayRepeat()) || !isInTime) throw error;
      }
    }
  }

  /** Resolves when the database is reachable; waits during a short outage. @throws StoreUnavailable */
  async #reachable(): Promise<void> {
    this.#refuseClosed();
    if (this.isAwaited) await this.#untilWoken(this.#patienceLeftMs);
    this.#refuseClosed();
    if (this.#away !== null) throw this.#away;
    if (!this.#migrated) throw new StoreUnavailable('unreachable');
  }

  get #connections(): number {
    return this.#options.connections ?? CONNECTIONS;
  }

  get #patienceMs(): number {
    return this.#options.patienceMs ?? PATIENCE_MS;
  }

  get #patienceLeftMs(): number {
    if (this.#away?.reason !== 'unreachable') return 0;
    return Math.max(0, this.#awaySinceMs + this.#patienceMs - performance.now());
  }

  #untilWoken(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }

  #wake(): void {
    for (const done of this.#waiting) done();
  }

  /** Runs work on a connection. A connection that does not answer in time is closed, which ends its transaction. */
  async #on<T>(pool: Pool, waitMs: number, work: (client: ClientBase) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined;
    let timer: NodeJS.Timeout | undefined;
    let late = false;
    const limitMs = answerMs(waitMs);
    const endMs = performance.now() + limitMs;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late = true;
        client?.release(true);
        // if other calls were answered meanwhile, only this one is slow
        reject(new StoreUnavailable(this.#answeredMs > endMs - limitMs / 2 ? 'locked' : 'unreachable'));
      }, limitMs + GRACE_MS);
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
        this.#answeredMs = performance.now();
        if (!late) connected.release();
        return result;
      } catch (cause) {
        if (!late) connected.release(isAway(failureOf(cause)));
        throw cause;
      }
    };
    const running = run();
    running.catch(() => undefined); // the time limit may have won
    try {
      return await Promise.race([running, limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Gets a connection. If all are busy for a while, that does not mean that the database is unreachable. If it refuses
   * more connections, the existing ones are used, and more are requested later.
   */
  async #connected(pool: Pool, endMs: number): Promise<PoolClient> {
    for (;;) {
      if (performance.now() > this.#growAtMs) pool.options.max = this.#connections;
      const isBusy = pool.idleCount === 0 && pool.totalCount >= pool.options.max;
      try {
        return await pool.connect();
      } catch (cause) {
        const givesNoMore = isExhausted(cause) && pool.totalCount > 0;
        if (givesNoMore) {
          pool.options.max = pool.totalCount;
          this.#growAtMs = performance.now() + GROW_AGAIN_MS;
        } else if (!isBusy) throw cause;
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
      max: this.#connections,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      pipeline: true,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      types: {
        // 64-bit numbers here stay far below the precision limit of a double
        getTypeParser: (oid, format) => (Number(oid) === 20 ? Number : pg.types.getTypeParser(oid, format)),
      },
    });
    pool.on('error', () => undefined); // an idle connection broke; the next call finds out
    pool.on('connect', (client) => {
      client.on('error', () => undefined); // a connection in use broke; its query fails
    });
    return pool;
  }

  async #migrate(pool: Pool): Promise<void> {
    await this.#on(pool, 60_000, (client) => migrate(client, this.#options.readonly, this.#options.parts));
    this.#migrated = true;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new StoreUnavailable('closed');
  }

  #refuseReadonly(): void {
    this.#refuseClosed();
    if (this.#options.readonly) throw new StoreUnavailable('readonly');
  }

  /** @param beganMs - start of the failed call, by `performance.now()` */
  #failed(cause: unknown, beganMs: number): StoreUnavailable {
    if (this.#closed) return new StoreUnavailable('closed');
    const error = failureOf(cause);
    if (isAway(error)) this.#wentAway(error, beganMs);
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

  #wentAway(error: StoreUnavailable, beganMs: number): void {
    const wasAway = this.#away !== null;
    this.#away = error;
    if (wasAway) return;
    this.#awaySinceMs = Math.max(beganMs, this.#answeredMs);
    this.#dropPool();
    this.#options.onAway?.();
  }

  /** Drops all connections: if one broke, the others probably did too. */
  #dropPool(): void {
    const dropped = this.#pool;
    this.#pool = null;
    // connections in use end when they are released
    void dropped?.then((pool) => pool.end()).catch(() => undefined); // the pool never opened, and its caller received the error
  }

  /** @param wrote - a write succeeded; a read says nothing about a full disk */
  #worked(wrote: boolean): void {
    // a late answer from before the outage
    if (this.#away !== null) return;
    if (this.#failure === null || (!wrote && !isAway(this.#failure.error))) return;
    this.#options.log?.info({ was: this.#failure.error.reason }, 'store back');
    this.#failure = null;
  }
}

/**
 * Begins a transaction with server-side time limits. They end with the transaction, so that a pooler never passes them
 * on to other clients.
 */
function beginWithin(waitMs: number, begin = 'BEGIN'): string {
  const lockMs = Math.max(1, Math.trunc(waitMs));
  return `${begin}; SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${answerMs(waitMs)}`;
}

/** Time limit of an answer if the call may wait `waitMs` for locks: the work itself needs time, too. */
function answerMs(waitMs: number): number {
  return Math.max(ANSWER_MS, Math.trunc(waitMs));
}

/**
 * One statement with a server-side time limit: after a failure it was not executed and will not be. Begin, statement
 * and commit are pipelined in one round trip.
 */
async function alone<Row extends QueryResultRow>(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
  waitMs: number,
): Promise<Row[]> {
  const began = client.query(beginWithin(waitMs));
  const answered = client.query<Row>(text, [...values]);
  const ended = client.query('COMMIT');
  const all = await Promise.allSettled([began, answered, ended]); // a connection is free only after all answers
  for (const one of all) if (one.status === 'rejected') throw one.reason;
  return (await answered).rows;
}
