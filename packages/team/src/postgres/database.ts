import type { Clock } from 'mcp-pruner/core/ports.ts';
import { isUnwritable, StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import type { StoreLog } from 'mcp-pruner/store/store-log.ts';
import type { ClientBase, Pool, QueryResultRow } from 'pg';
import { shownUrl } from './connection-config.ts';
import { ANSWER_MS, alone, beginWithin, Connections, type Dedicated } from './connections.ts';
import { failureOf, isAway, mayBeRepeated } from './failures.ts';
import { migrate } from './migrate.ts';

interface DatabaseOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: StoreLog | undefined;
  /** Maximum number of connections of this process. A request waits for a connection no longer than for an answer. */
  readonly connections?: number;
  /** Migrates and writes nothing. */
  readonly readonly: boolean;
  /** How long calls wait during an outage, in milliseconds; default: 3 seconds. */
  readonly patienceMs?: number;
  /** Called when the database becomes unreachable; the caller should call `retry` soon afterwards. */
  readonly onAway?: () => void;
  /** The tables of optional parts. Default: none. */
  readonly parts?: readonly PartTables[];
}

const TRIES = 3;
/** Long enough for a restart, and shorter than the time limit of a request (three times `timeout_ms`). */
const PATIENCE_MS = 3_000;

/** A client inside a transaction, or the pool. */
export interface Queryable {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** Whether a call may be retried although the first attempt may have been executed. */
type MayRepeat = () => boolean;
const ALWAYS: MayRepeat = () => true;
const NEVER: MayRepeat = () => false;

/**
 * Connections to PostgreSQL. Calls wait during a short outage (a restart, a broken connection), because only the
 * database has a conversation's earlier cuts, and forwarding previously cut text unchanged costs the provider's cache.
 * During a longer outage calls fail at once; `retry` checks whether it is over.
 */
export class Database implements Queryable {
  readonly #options: DatabaseOptions;
  readonly #connections: Connections;
  #migrated = false;
  #away: StoreUnavailable | null = null;
  /**
   * Start of the outage, by `performance.now()`: when the failed call began, or when the last call was answered if that
   * was later.
   */
  #awaySinceMs = 0;
  readonly #waiting = new Set<() => void>();
  /** Reason and start of the current failure of writes, or of all calls. */
  #failure: { readonly error: StoreUnavailable; readonly sinceMs: number } | null = null;
  #closed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#connections = new Connections(options);
  }

  get roundTrips(): number {
    return this.#connections.roundTrips;
  }

  /** Why the database is currently unusable or unwritable, or `null`. */
  get failure(): { readonly error: StoreUnavailable; readonly sinceMs: number } | null {
    return this.#failure;
  }

  /** Whether calls fail at once, because the database is unreachable or was never reached. */
  get isAway(): boolean {
    return this.#away !== null || !this.#migrated;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether calls currently wait for the database to return, as at the beginning of an outage. */
  get isAwaited(): boolean {
    return this.#patienceLeftMs > 0;
  }

  /** Whether any caller is waiting, including callers of `untilBack`. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0;
  }

  /** Waits until the database is reachable, at most `ms` milliseconds from the outage; returns whether it is. */
  async untilBack(ms: number): Promise<boolean> {
    const leftMs = this.#awaySinceMs + ms - performance.now();
    if (this.isAway && !this.#closed && leftMs > 0) await this.#untilWoken(leftMs);
    return !this.isAway && !this.#closed;
  }

  /**
   * Tests whether the database is usable, and migrates it if necessary.
   *
   * @throws StoreUnavailable
   */
  async retry(): Promise<void> {
    this.#refuseClosed();
    try {
      const pool = await this.#connections.open();
      if (!this.#migrated) await this.#migrate(pool);
      else await this.#connections.on(pool, ANSWER_MS, (client) => client.query('SELECT 1'));
      this.#away = null;
      this.#worked(false);
      this.#wake();
    } catch (cause) {
      throw this.#failed(cause, performance.now());
    }
  }

  /** Runs one statement as its own transaction, which may be executed twice. @throws StoreUnavailable */
  async query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    waitMs: number = ANSWER_MS,
  ): Promise<Row[]> {
    return this.#attempt(waitMs, ALWAYS, (client) => alone<Row>(client, text, values, waitMs));
  }

  /**
   * Like `query`, for a write: its success shows that the database is writable.
   *
   * @param again - `repeatable` if idempotent, so that it is retried if the connection breaks
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

  /** Runs several statements atomically, off the request path. @throws StoreUnavailable */
  async transaction<T>(work: (client: Queryable) => Promise<T>, waitMs: number): Promise<T> {
    this.#refuseReadonly();
    const result = await this.#within('BEGIN', work, waitMs);
    this.#worked(true);
    return result;
  }

  /** Runs several reads on a consistent snapshot, off the request path. @throws StoreUnavailable */
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
        await client.query('ROLLBACK').catch(() => undefined); // the connection itself may be broken
        throw cause;
      }
    });
  }

  /** Opens a dedicated connection for notifications. The caller ends it. */
  dedicated(): Promise<Dedicated> {
    return this.#connections.dedicated();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    await this.#connections.close();
  }

  async #attempt<T>(waitMs: number, mayRepeat: MayRepeat, work: (client: ClientBase) => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    let mayBeDone = false;
    for (let tries = 1; ; tries++) {
      await this.#reachable();
      const pool = await this.#connections.open();
      let isSent = false;
      try {
        return await this.#connections.on(pool, waitMs, (client) => {
          isSent = true;
          return work(client);
        });
      } catch (cause) {
        if (tries < TRIES && mayBeRepeated(cause) && !this.#closed) continue;
        const error = this.#failed(cause, beganMs);
        mayBeDone ||= isSent && (error === cause || error.reason === 'unreachable'); // not an error from the server itself
        error.mayBeDone = mayBeDone;
        const isInTime = performance.now() < beganMs + this.#patienceMs;
        if (error.reason !== 'unreachable' || (isSent && !mayRepeat()) || !isInTime) throw error;
      }
    }
  }

  /** Waits until the database is reachable, during short outages. @throws StoreUnavailable */
  async #reachable(): Promise<void> {
    this.#refuseClosed();
    if (this.isAwaited) await this.#untilWoken(this.#patienceLeftMs);
    this.#refuseClosed();
    if (this.#away !== null) throw this.#away;
    if (!this.#migrated) throw new StoreUnavailable('unreachable');
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

  async #migrate(pool: Pool): Promise<void> {
    await this.#connections.on(pool, 60_000, (client) => migrate(client, this.#options.readonly, this.#options.parts));
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
    if (isUnwritable(error)) return error;
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
    this.#awaySinceMs = Math.max(beganMs, this.#connections.answeredMs);
    this.#connections.drop();
    this.#options.onAway?.();
  }

  /** @param wrote - whether a write succeeded; reads say nothing about a full disk */
  #worked(wrote: boolean): void {
    // a late answer from before the outage
    if (this.#away !== null) return;
    if (this.#failure === null || (!wrote && !isAway(this.#failure.error))) return;
    this.#options.log?.info({ was: this.#failure.error.reason }, 'store back');
    this.#failure = null;
  }
}
