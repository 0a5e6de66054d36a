import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { ClientBase } from 'pg';
import type { Database } from './database.ts';

interface ReplicaViewOptions {
  readonly database: Database;
  readonly onRefused: () => void;
  readonly onKeys: () => void;
  readonly onSettings: () => void;
}

/** Poll interval for changes by other processes; a notification triggers a poll at once. */
const POLL_MS = 1_000;
/** Poll interval while calls wait during a short outage. */
const HURRY_MS = 100;
/** Poll interval while requests wait during a longer outage. */
const WAITED_MS = 250;
/** Maximum number of served texts in memory, equal to the table's limit. */
const MAX_SERVED = 100_000;
/** Retry interval for `LISTEN`, which fails behind a pooler in transaction mode. */
const LISTEN_AGAIN_MS = 30_000;

interface Known {
  readonly deletedGeneration: number;
  readonly directiveGeneration: number;
  readonly servedSeq: number;
  readonly refusedSeq: number;
  readonly keyGeneration: number;
  readonly settings: string | null;
}

interface KnownRow {
  readonly deleted: number;
  readonly directives: number;
  readonly served: number;
  readonly refused: number;
  readonly keys: number;
  readonly settings: string | null;
}

/**
 * In-memory copy of state shared by all replicas, so that requests need no query: generations of prunes and directives,
 * and served texts. Updated by `LISTEN`, with polling as a fallback.
 */
export class ReplicaView {
  readonly #options: ReplicaViewOptions;
  readonly #served = new Map<string, number>();
  #known: Known | null = null;
  /** Incremented after an outage, which invalidates everything cached before. */
  #serial = 0;
  #timer: NodeJS.Timeout | undefined;
  #listener: (ClientBase & { end(): Promise<void> }) | null = null;
  #listenAgainAt = 0;
  #polling: Promise<void> | null = null;
  #pollAgain = false;
  #closed = false;

  constructor(options: ReplicaViewOptions) {
    this.#options = options;
  }

  /** @throws StoreUnavailable before the first contact with the database */
  get deleted(): string {
    return `${this.#serial}.${this.#require().deletedGeneration}`;
  }

  /** @throws StoreUnavailable before the first contact with the database */
  get directives(): string {
    return `${this.#serial}.${this.#require().directiveGeneration}`;
  }

  get directiveGeneration(): number {
    return this.#known?.directiveGeneration ?? -1;
  }

  /** Expiry of a served text, or `undefined`. */
  servedUntil(hash: string): number | undefined {
    return this.#served.get(hash);
  }

  /**
   * Polls now, repeatedly during an outage, and from then on periodically. Never rejects: `Database.failure` has the
   * error.
   */
  async start(): Promise<void> {
    await this.poll();
    while (this.#options.database.isAwaited && !this.#closed) {
      await pause(HURRY_MS);
      await this.poll();
    }
    this.#schedule();
  }

  /** Polls more often from now on, because calls wait for an unreachable database. */
  hurry(): void {
    this.#schedule();
  }

  /** Polls for changes. Never rejects. */
  poll(): Promise<void> {
    if (this.#polling !== null) {
      this.#pollAgain = true;
      return this.#polling;
    }
    this.#polling = this.#pollUntilStill().finally(() => {
      this.#polling = null;
    });
    return this.#polling;
  }

  /** Polls for all changes up to now; a poll in progress may have started too early. */
  async pollAnew(): Promise<void> {
    await this.#polling;
    await this.poll();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#polling;
    await this.#listener?.end().catch(() => undefined); // no longer needed
  }

  #require(): Known {
    if (this.#options.database.isClosed) throw new StoreUnavailable('closed');
    if (this.#known === null) throw this.#options.database.failure?.error ?? new StoreUnavailable('unreachable');
    return this.#known;
  }

  #schedule(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    const { isAwaited, isWaitedFor } = this.#options.database;
    const delayMs = isAwaited ? HURRY_MS : isWaitedFor ? WAITED_MS : POLL_MS;
    this.#timer = setTimeout(() => void this.poll().then(() => this.#schedule()), delayMs).unref();
  }

  async #pollUntilStill(): Promise<void> {
    do {
      this.#pollAgain = false;
      try {
        await this.#pollOnce();
      } catch {
        return; // the change is stored, and the next poll retries
      }
    } while (this.#pollAgain && !this.#closed);
  }

  async #pollOnce(): Promise<void> {
    const { database, onRefused, onKeys, onSettings } = this.#options;
    const wasAway = database.isAway;
    if (wasAway) {
      await database.retry();
      this.#serial++;
    }
    await this.#listen();
    const [row] = await database.query<KnownRow>(
      `SELECT (SELECT value FROM mcp_pruner.meter WHERE name = 'deleted_generation') AS deleted,
              (SELECT value FROM mcp_pruner.meter WHERE name = 'directive_generation') AS directives,
              (SELECT value FROM mcp_pruner.meter WHERE name = 'key_generation') AS keys,
              (SELECT max(id) || ' ' || count(*) FROM mcp_pruner.project_setting) AS settings,
              (SELECT seq FROM mcp_pruner.log_seq WHERE log = 'served') AS served,
              (SELECT seq FROM mcp_pruner.log_seq WHERE log = 'left_alone') AS refused`,
    );
    if (!row) return;
    const before = this.#known;
    if ((before?.servedSeq ?? 0) !== row.served) await this.#readServed(before?.servedSeq ?? 0);
    this.#known = {
      deletedGeneration: row.deleted,
      directiveGeneration: row.directives,
      servedSeq: row.served,
      refusedSeq: row.refused,
      keyGeneration: row.keys,
      settings: row.settings,
    };
    if (before !== null && before.refusedSeq !== row.refused) onRefused();
    // the first answer may come after an outage at the start
    if (before?.keyGeneration !== row.keys) onKeys();
    if (before?.settings !== row.settings) onSettings();
  }

  async #readServed(after: number): Promise<void> {
    const rows = await this.#options.database.query<{ hash: string; expires_ms: number }>(
      'SELECT hash, expires_ms FROM mcp_pruner.served WHERE id > $1 ORDER BY id',
      [after],
    );
    for (const { hash, expires_ms } of rows) {
      this.#served.delete(hash);
      this.#served.set(hash, expires_ms);
    }
    for (const hash of this.#served.keys()) {
      if (this.#served.size <= MAX_SERVED) break;
      this.#served.delete(hash);
    }
  }

  async #listen(): Promise<void> {
    if (this.#listener !== null || this.#closed || performance.now() < this.#listenAgainAt) return;
    this.#listenAgainAt = performance.now() + LISTEN_AGAIN_MS;
    let client: (ClientBase & { end(): Promise<void> }) | undefined;
    try {
      client = await this.#options.database.dedicated();
      const opened = client;
      opened.on('notification', () => void this.poll());
      opened.once('end', () => {
        if (this.#listener === opened) this.#listener = null;
        this.#listenAgainAt = 0;
      });
      await opened.query('LISTEN mcp_pruner');
      this.#listener = opened;
    } catch {
      await client?.end().catch(() => undefined); // polling continues without the listener
    }
  }
}
