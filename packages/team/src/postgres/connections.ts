import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import { connectionConfig } from './connection-config.ts';
import { failureOf, isAway, isExhausted } from './failures.ts';

/** Default time limit of a call, including connecting, in milliseconds. */
export const ANSWER_MS = 1_500;
const CONNECT_MS = 1_500;
/** Additional time for the server to report its own time-out. */
const GRACE_MS = 500;
const IDLE_MS = 300_000;
const CONNECTIONS = 8;
/** How long only existing connections are used after the database refused more. */
const GROW_AGAIN_MS = 10_000;

/** A connection outside the pool. */
export type Dedicated = ClientBase & { end(): Promise<void> };

/** Connections of one process to its database, with time limits for their use. */
export class Connections {
  readonly #url: string;
  readonly #max: number;
  #pool: Promise<Pool> | null = null;
  /** When to request more connections again, by `performance.now()`. */
  #growAtMs = 0;
  roundTrips = 0;
  /** Time of the last answer, by `performance.now()`. */
  answeredMs = 0;

  constructor({ url, connections = CONNECTIONS }: { readonly url: string; readonly connections?: number | undefined }) {
    this.#url = url;
    this.#max = connections;
  }

  /** Opens a dedicated connection for notifications. The caller ends it. */
  async dedicated(): Promise<Dedicated> {
    const { Client } = (await import('pg')).default;
    const client = new Client({
      ...connectionConfig(this.#url),
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    client.on('error', () => undefined); // an 'end' event follows
    await client.connect();
    return client;
  }

  /** Runs work on a connection. An unresponsive connection is closed, which ends its transaction. */
  async on<T>(pool: Pool, waitMs: number, work: (client: ClientBase) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined;
    let timer: NodeJS.Timeout | undefined;
    let late = false;
    const limitMs = answerMs(waitMs);
    const endMs = performance.now() + limitMs;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late = true;
        client?.release(true);
        // if other calls were answered in the meantime, only this one is slow
        reject(new StoreUnavailable(this.answeredMs > endMs - limitMs / 2 ? 'locked' : 'unreachable'));
      }, limitMs + GRACE_MS);
    });
    const run = async (): Promise<T> => {
      const connected = await this.#connected(pool, endMs);
      if (late) {
        connected.release();
        throw new StoreUnavailable('unreachable');
      }
      client = connected;
      this.roundTrips++;
      try {
        const result = await work(connected);
        this.answeredMs = performance.now();
        if (!late) connected.release();
        return result;
      } catch (cause) {
        if (!late) connected.release(isAway(failureOf(cause)));
        throw cause;
      }
    };
    const running = run();
    running.catch(() => undefined); // the time limit may have been reached first
    try {
      return await Promise.race([running, limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Gets a connection. Busy connections do not mean that the database is unreachable. If it refuses more connections,
   * the existing ones are used, and more are requested later.
   */
  async #connected(pool: Pool, endMs: number): Promise<PoolClient> {
    for (;;) {
      if (performance.now() > this.#growAtMs) pool.options.max = this.#max;
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

  async open(): Promise<Pool> {
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
      ...connectionConfig(this.#url),
      max: this.#max,
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
    pool.on('error', () => undefined); // an idle connection broke; the next call notices
    pool.on('connect', (client) => {
      client.on('error', () => undefined); // a connection in use broke; its query fails
    });
    return pool;
  }

  /** Drops all connections: if one broke, the others probably did too. */
  drop(): void {
    const dropped = this.#pool;
    this.#pool = null;
    // connections in use are closed when released
    void dropped?.then((pool) => pool.end()).catch(() => undefined); // the pool never opened, and its caller got the error
  }

  async close(): Promise<void> {
    const pool = await this.#pool?.catch(() => null); // errors are handled by its first caller
    await pool?.end().catch(() => undefined); // no longer needed
  }
}

/**
 * Begins a transaction with server-side time limits. They end with the transaction, so that a pooler never passes them
 * on to other clients.
 */
export function beginWithin(waitMs: number, begin = 'BEGIN'): string {
  const lockMs = Math.max(1, Math.trunc(waitMs));
  return `${begin}; SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${answerMs(waitMs)}`;
}

/** Time limit of a call that may wait `waitMs` for locks, including time for the work itself. */
function answerMs(waitMs: number): number {
  return Math.max(ANSWER_MS, Math.trunc(waitMs));
}

/**
 * Runs one statement with a server-side time limit: after a failure it was not and will not be executed. Begin,
 * statement and commit are pipelined in one round trip.
 */
export async function alone<Row extends QueryResultRow>(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
  waitMs: number,
): Promise<Row[]> {
  const began = client.query(beginWithin(waitMs));
  const answered = client.query<Row>(text, [...values]);
  const ended = client.query('COMMIT');
  const all = await Promise.allSettled([began, answered, ended]); // a connection is only free after all answers
  for (const one of all) if (one.status === 'rejected') throw one.reason;
  return (await answered).rows;
}
