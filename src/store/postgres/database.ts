import type { ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import type { Clock } from '../../core/ports.ts';
import { StoreUnavailable } from '../../errors.ts';
import type { StoreLog } from '../store-log.ts';
import { connectionConfig, shownUrl } from './connection-config.ts';
import { failureOf, isAway, isExhausted, mayBeRepeated } from './failures.ts';
import { migrate } from './migrations/migrate.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: StoreLog | undefined;
  /** Connections of this process; a request waits for none of them longer than for an answer. */
  readonly connections?: number;
  /** Nothing is migrated or written. */
  readonly readonly: boolean;
  /** How long an absence is waited out, in milliseconds; 3 seconds by default. */
  readonly patienceMs?: number;
  /** Told when the database is found to be away: then `retry` is to be called soon. */
  readonly onAway?: () => void;
}

/** How long a call that names no limit waits for its answer, the connection included. */
const ANSWER_MS = 1_500;
const CONNECT_MS = 1_500;
/** What the server is given to say itself that it took too long. */
const GRACE_MS = 500;
const IDLE_MS = 300_000;
const CONNECTIONS = 8;
/** How long a process does with the connections it has once the database gave it no more. */
const GROW_AGAIN_MS = 10_000;
const TRIES = 3;
/** A restart is over by then; the time for a request (three times `timeout_ms`) is not. */
const PATIENCE_MS = 3_000;

/** A client inside a transaction, or the pool. */
export interface Queryable {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** Whether the same call may be made again though nobody knows whether the first one arrived. */
type MayRepeat = () => boolean;
const ALWAYS: MayRepeat = () => true;
const NEVER: MayRepeat = () => false;

/**
 * Connections to PostgreSQL. A short absence (a restart, a broken connection) is waited out: what this process does not
 * know of a conversation nobody else can tell it, and to send what was cut before as it came costs the provider's cache. While
 * a longer one lasts calls fail at once instead of waiting each for themselves; `retry` finds out whether it is over.
 */
export class Database implements Queryable {
  readonly #options: DatabaseOptions;
  #pool: Promise<Pool> | null = null;
  #migrated = false;
  #away: StoreUnavailable | null = null;
  /** Since when, of `performance.now()`: the beginning of the call that failed, unless another was answered after that. */
  #awaySinceMs = 0;
  /** When an answer came last, of `performance.now()`. */
  #answeredMs = 0;
  readonly #waiting = new Set<() => void>();
  /** Since when writes or everything fail. */
  #failure: { readonly error: StoreUnavailable; readonly sinceMs: number } | null = null;
  #closed = false;
  #roundTrips = 0;
  /** When more connections are asked for again, of `performance.now()`. */
  #growAtMs = 0;

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

  /** Whether calls wait for it to come back: in the first moments all of them do. */
  get isAwaited(): boolean {
    return this.#patienceLeftMs > 0;
  }

  /** Whether somebody waits for it to come back. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves when it can be asked, at the latest when it was away for `ms` milliseconds; says whether it can. */
  async untilBack(ms: number): Promise<boolean> {
    const leftMs = this.#awaySinceMs + ms - performance.now();
    if (this.isAway && !this.#closed && leftMs > 0) await this.#untilWoken(leftMs);
    return !this.isAway && !this.#closed;
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
      this.#away = null;
      this.#worked(false);
      this.#wake();
    } catch (cause) {
      throw this.#failed(cause, performance.now());
    }
  }

  /** One statement, which is a transaction of its own and may be made twice. @throws StoreUnavailable */
  async query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    waitMs: number = ANSWER_MS,
  ): Promise<Row[]> {
    return this.#attempt(waitMs, ALWAYS, (client) => alone<Row>(client, text, values, waitMs));
  }

  /**
   * As `query`, for a statement that writes: that it worked says that the database can be written.
   *
   * @param again - `repeatable`: made twice it does what it does once, so that it is made again where the connection broke
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
    this.#wake();
    const pool = await this.#pool?.catch(() => null); // told to whoever connected
    await pool?.end().catch(() => undefined); // nobody needs it any more
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
        mayBeDone ||= isSent && (error === cause || error.reason === 'unreachable'); // the server itself said nothing
        error.mayBeDone = mayBeDone;
        const isInTime = performance.now() < beganMs + this.#patienceMs;
        if (error.reason !== 'unreachable' || (isSent && !mayRepeat()) || !isInTime) throw error;
      }
    }
  }

  /** Resolves when the database can be asked; one that went away a moment ago is waited for. @throws StoreUnavailable */
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

  /** Runs work on a connection; one that does not answer in time is cut, and its transaction ends with it. */
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
        // where others were answered meanwhile it is this that takes long
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
    running.catch(() => undefined); // the limit may have come first
    try {
      return await Promise.race([running, limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * All connections may be busy for a while, which says nothing about the database; where it gives no more of them, those that
   * there are must do, and more are asked for later.
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

  /** @param beganMs - when the call that failed began, of `performance.now()` */
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

  /** Where one connection broke the others did, and nobody has found out yet. */
  #dropPool(): void {
    const dropped = this.#pool;
    this.#pool = null;
    // those in use end when they are given back
    void dropped?.then((pool) => pool.end()).catch(() => undefined); // it could not be opened: its caller was told
  }

  /** @param wrote - a write that worked; what only reads says nothing about a full disk */
  #worked(wrote: boolean): void {
    // an answer that was on its way when the database went
    if (this.#away !== null) return;
    if (this.#failure === null || (!wrote && !isAway(this.#failure.error))) return;
    this.#options.log?.info({ was: this.#failure.error.reason }, 'store back');
    this.#failure = null;
  }
}

/** A transaction that ends itself when it takes too long; the limits end with it, so that a pooler keeps nothing of them. */
function beginWithin(waitMs: number, begin = 'BEGIN'): string {
  const lockMs = Math.max(1, Math.trunc(waitMs));
  return `${begin}; SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${answerMs(waitMs)}`;
}

/** How long an answer may take when others may be waited for so long: the work itself takes its time, too. */
function answerMs(waitMs: number): number {
  return Math.max(ANSWER_MS, Math.trunc(waitMs));
}

/**
 * One statement that the server itself gives up in time: what failed then was not done, and is not done later. Begin, statement
 * and end are sent together and answered together (the connections pipeline): one round trip.
 */
async function alone<Row extends QueryResultRow>(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
  waitMs: number,
): Promise<Row[]> {
  const began = client.query(beginWithin(waitMs));
  const asked = client.query<Row>(text, [...values]);
  const ended = client.query('COMMIT');
  const all = await Promise.allSettled([began, asked, ended]); // a connection is free once all are answered
  for (const one of all) if (one.status === 'rejected') throw one.reason;
  return (await asked).rows;
}
