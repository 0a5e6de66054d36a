import type { StoreOptions, SweepLimits, SweepStep } from 'mcp-pruner/store/handle.ts';
import { LEDGER_TTL_MS, STATE_TTL_MS, WAITING_TTL_MS } from 'mcp-pruner/store/ledger-rows.ts';
import { livingMs, roomLimit, YEAR_MS } from 'mcp-pruner/store/lifetimes.ts';
import { trimLog } from 'mcp-pruner/store/logs.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import { packBytes } from 'mcp-pruner/store/text-codec.ts';
import type { Database, Queryable } from './database.ts';
import type { DatabaseSql } from './database-sql.ts';
import { STEP_WAIT_MS } from './uses.ts';

/** Target duration of a deletion step, in milliseconds; the number of rows per step is adapted to it. */
const STEP_MS = 50;
/** Rows per step and table: initial, minimum and maximum. */
const FIRST_ROWS = 50;
const LEAST_ROWS = 10;
const MOST_ROWS = 500;
/** Texts and bytes compressed per step. */
const STEP_PACK_COUNT = 8;
const STEP_PACK_BYTES = 524_288;
const STEP_EVICT_PRUNES = 50;

const MAX_SEGMENTS = 1_000_000;
const MAX_DIRECTIVES = 500_000;
const MAX_SERVED = 100_000;
const MAX_LEFT_ALONE = 10_000;
const MAX_REPLIES = 100_000;

/** Advisory lock of the database ("mcpu"), held for one upkeep step. */
const UPKEEP_LOCK = 0x6d637075;

const NOTHING: SweepStep = { expired: 0, evicted: 0, packed: 0, pages: 0, more: false };

/** Steps are recorded under a content id (`base/conversation-ids.ts`), which is the suffix of conversation names. */
const STEP_GOES = `c.project IN (t.project, t.project || chr(10) || 'bound') AND t.conversation = right(c.name, 32) AND c.id = ANY ($1)
  AND NOT EXISTS (SELECT 1 FROM mcp_pruner.conversation o
    WHERE o.project IN (t.project, t.project || chr(10) || 'bound') AND NOT (o.id = ANY ($1)) AND right(o.name, 32) = t.conversation)`;

/**
 * Keeps the store within its limits, in small steps and by one replica at a time. Each step is a transaction under an
 * advisory lock that skips rows locked by others, so that no request waits for it.
 */
export class Sweeper {
  readonly #database: Database;
  readonly #sql: DatabaseSql;
  readonly #limits: SweepLimits;
  readonly #parts: readonly PartTables[];
  #storedBytes = 0;
  #rows = FIRST_ROWS;

  constructor(database: Database, sql: DatabaseSql, limits: SweepLimits & Pick<StoreOptions, 'parts'>) {
    this.#database = database;
    this.#sql = sql;
    this.#limits = limits;
    this.#parts = limits.parts ?? [];
  }

  /** Whether the store is so full that upkeep must not wait for a pause. */
  get pressed(): boolean {
    return this.#storedBytes > this.#limits.maxBytes;
  }

  /** @throws StoreUnavailable */
  async step(nowMs: number): Promise<SweepStep> {
    const cleared = await this.#alone((client) => this.#clear(client, nowMs));
    if (cleared === null) return NOTHING; // another replica is running the upkeep
    const packed = await this.#pack();
    const evicted = await this.#alone((client) => this.#evict(client, nowMs, packed > 0));
    const done = evicted ?? 0;
    const more = cleared.more || packed > 0 || done > 0;
    return { expired: cleared.done, evicted: done, packed, pages: 0, more };
  }

  /** Runs work under the upkeep lock; `null` if another replica holds it. */
  #alone<T>(work: (client: Queryable) => Promise<T>): Promise<T | null> {
    return this.#database.transaction(async (client) => {
      const [lock] = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS mine', [
        UPKEEP_LOCK,
      ]);
      return lock?.mine === true ? work(client) : null;
    }, STEP_WAIT_MS);
  }

  async #clear(client: Queryable, nowMs: number): Promise<{ done: number; more: boolean }> {
    const beganMs = performance.now();
    const rows = this.#rows;
    await addUp(client);
    const prunes = await removePrunes(client, 'expires_ms <= $1', nowMs, rows);
    const gone = (table: string, where: string, value: number): Promise<number> =>
      remove(client, table, where, [value], rows);
    const counts = [
      prunes,
      await gone('decision', 'prune IS NULL AND expires_ms <= $1 ORDER BY expires_ms', nowMs),
      await gone('served', 'expires_ms <= $1 ORDER BY expires_ms', nowMs),
      await gone('sent', 'expires_ms <= $1 ORDER BY expires_ms', nowMs),
      await gone('left_alone', 'expires_ms <= $1 ORDER BY expires_ms', nowMs),
    ];
    const others = [
      await gone('served', `id <= (SELECT max(id) FROM mcp_pruner.served) - $1::bigint`, MAX_SERVED),
      await gone('left_alone', `id <= (SELECT max(id) FROM mcp_pruner.left_alone) - $1::bigint`, MAX_LEFT_ALONE),
      await gone('reply', 'expires_ms <= $1 ORDER BY expires_ms', nowMs),
      await this.#trimReplies(client, rows),
      await this.#sql.run(client, trimLog('event', this.#limits.maxEvents, rows)),
      await this.#sql.run(client, trimLog('child_log', this.#limits.maxEvents, rows)),
      await this.#trimDirectives(client, rows),
      await this.#trimLedger(client, nowMs),
      ...(await this.#trimParts(client, nowMs)),
      await removeBy(client, 'event', 'seq', 'audit = 1 AND ts_ms < $1 ORDER BY ts_ms', this.#auditsFrom(nowMs), rows),
    ];
    const forgotten = await this.#forget(client, nowMs - this.#limits.ttlMs);
    const more = [...counts, ...others, forgotten].some((count) => count >= rows);
    this.#rows = nextRows(rows, performance.now() - beganMs, more);
    return { done: counts.reduce((sum, count) => sum + count, 0) + forgotten, more };
  }

  /** Deletes conversations not seen for a lifetime, with their recorded steps; then those beyond the limit. */
  async #forget(client: Queryable, beforeMs: number): Promise<number> {
    const [size] = await client.query<{ rows: number }>(
      "SELECT greatest(reltuples, 0)::bigint AS rows FROM pg_class WHERE oid = 'mcp_pruner.segment'::regclass",
    );
    const tooMany = (size?.rows ?? 0) > MAX_SEGMENTS;
    const old = await client.query<{ id: number; project: string; name: string }>(
      `SELECT id, project, name FROM mcp_pruner.conversation WHERE seen_ms <= $1 OR $2
       ORDER BY seen_ms LIMIT $3 FOR UPDATE SKIP LOCKED`,
      [beforeMs, tooMany, tooMany ? 10 : 50],
    );
    if (old.length === 0) return 0;
    const ids = old.map(({ id }) => id);
    await client.query(
      `DELETE FROM mcp_pruner.directive d USING mcp_pruner.step t, mcp_pruner.conversation c
       WHERE d.project = t.project AND d.scope = t.scope AND ${STEP_GOES}`,
      [ids],
    );
    await client.query(`DELETE FROM mcp_pruner.step t USING mcp_pruner.conversation c WHERE ${STEP_GOES}`, [ids]);
    const [segments] = await client.query<{ count: number }>(
      'WITH gone AS (DELETE FROM mcp_pruner.segment WHERE conversation = ANY ($1) RETURNING 1) SELECT count(*) AS count FROM gone',
      [ids],
    );
    await client.query('DELETE FROM mcp_pruner.conversation WHERE id = ANY ($1)', [ids]);
    return segments?.count ?? 0;
  }

  #auditsFrom(nowMs: number): number {
    return Math.trunc(nowMs - (this.#limits.auditTtlMs ?? YEAR_MS));
  }

  /** Deletes expired ledger rows and states. Sums are kept. */
  async #trimLedger(client: Queryable, nowMs: number): Promise<number> {
    const ages: readonly [table: string, key: string, column: string, ttlMs: number][] = [
      ['ledger_turn', 'id', 'at_ms', this.#limits.ledgerTtlMs ?? LEDGER_TTL_MS],
      ['ledger_state', 'name', 'at_ms', STATE_TTL_MS],
      ['ledger_waiting', 'id', 'since_ms', WAITING_TTL_MS],
    ];
    let most = 0;
    for (const [table, key, column, ttlMs] of ages) {
      const where = `${column} < $1 ORDER BY ${column}`;
      const gone = await removeBy(client, table, key, where, Math.trunc(nowMs - ttlMs), this.#rows);
      most = Math.max(most, gone);
    }
    return most;
  }

  async #trimParts(client: Queryable, nowMs: number): Promise<number[]> {
    const counts: number[] = [];
    for (const { sweep } of this.#parts) {
      const ttlMs = this.#limits.ledgerTtlMs ?? null;
      if (sweep) counts.push(await this.#sql.run(client, sweep(nowMs, ttlMs, this.#rows)));
    }
    return counts;
  }

  async #trimReplies(client: Queryable, rows: number): Promise<number> {
    const [size] = await client.query<{ surplus: number }>(
      'SELECT count(*) - $1::bigint AS surplus FROM mcp_pruner.reply',
      [MAX_REPLIES],
    );
    const surplus = Math.min(rows, size?.surplus ?? 0);
    return surplus <= 0 ? 0 : remove(client, 'reply', 'true ORDER BY expires_ms', [], surplus);
  }

  async #trimDirectives(client: Queryable, rows: number): Promise<number> {
    const [size] = await client.query<{ value: number }>(
      "SELECT value FROM mcp_pruner.meter WHERE name = 'directives'",
    );
    const surplus = Math.min(rows, (size?.value ?? 0) - MAX_DIRECTIVES);
    return surplus <= 0 ? 0 : remove(client, 'directive', 'true ORDER BY id', [], surplus);
  }

  /** Compresses some texts on the thread pool. A concurrent deletion is harmless: the update then affects no row. */
  async #pack(): Promise<number> {
    const rows = await this.#database.query<{ id: number; hash: string; data: Buffer }>(
      `SELECT id, hash, data FROM (
         SELECT id, hash, data, sum(text_bytes) OVER (ORDER BY id) - text_bytes AS before
         FROM (SELECT * FROM mcp_pruner.snapshot WHERE packing = 0 ORDER BY id LIMIT $1) s) x WHERE before < $2`,
      [STEP_PACK_COUNT, STEP_PACK_BYTES],
      STEP_WAIT_MS,
    );
    for (const { id, hash, data } of rows) {
      const packed = await packBytes(data);
      await this.#database.write(
        `UPDATE mcp_pruner.snapshot SET packing = $3, data = $4::bytea, stored_bytes = octet_length($4::bytea)
         WHERE id = $1 AND hash = $2 AND packing = 0`,
        [id, hash, packed.packing, packed.data],
        STEP_WAIT_MS,
      );
    }
    return rows.length;
  }

  /** Evicts the least recently used texts until the size is within the limit; returns their number. */
  async #evict(client: Queryable, nowMs: number, packing: boolean): Promise<number> {
    const { maxBytes, ttlMs } = this.#limits;
    this.#storedBytes = await addUp(client);
    const limit = packing ? (maxBytes + roomLimit(maxBytes)) / 2 : maxBytes;
    if (this.#storedBytes <= limit) return 0;
    const livingFrom = nowMs + ttlMs - livingMs(ttlMs);
    // estimated from the mean size, and limited so that the deletion is quick
    const [size] = await client.query<{ prunes: number }>(
      "SELECT value AS prunes FROM mcp_pruner.meter WHERE name = 'prunes'",
    );
    const mean = this.#storedBytes / Math.max(1, size?.prunes ?? 1);
    const many = Math.max(1, Math.min(STEP_EVICT_PRUNES, Math.floor((this.#storedBytes - limit) / mean / 2)));
    const [oldest] = await client.query<{ whole: number | null; prune: number | null }>(
      `SELECT (SELECT min(expires_ms) FROM mcp_pruner.decision WHERE prune IS NULL) AS whole,
              (SELECT min(expires_ms) FROM mcp_pruner.prune) AS prune`,
    );
    const wholeFirst = (oldest?.whole ?? Infinity) < (oldest?.prune ?? Infinity);
    return wholeFirst
      ? remove(
          client,
          'decision',
          'prune IS NULL AND expires_ms <= $1 ORDER BY expires_ms',
          [Math.min(livingFrom, oldest?.prune ?? Infinity)],
          this.#rows,
        )
      : removePrunes(client, 'expires_ms <= $1', livingFrom, many);
  }
}

/** Number of rows for the next step, given the duration of this one. */
function nextRows(rows: number, tookMs: number, more: boolean): number {
  if (tookMs > STEP_MS) return Math.max(LEAST_ROWS, rows >> 1);
  return more && tookMs < STEP_MS / 2 ? Math.min(MOST_ROWS, rows * 2) : rows;
}

/** Deletes the least recently used prunes, and texts that no other prune needs; returns their number. */
async function removePrunes(client: Queryable, where: string, value: number, limit: number): Promise<number> {
  const gone = await client.query<{ snapshot: number }>(
    `DELETE FROM mcp_pruner.prune WHERE id IN (
       SELECT id FROM mcp_pruner.prune WHERE ${where} ORDER BY expires_ms LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING snapshot`,
    [value, limit],
  );
  if (gone.length > 0) {
    await client.query('SELECT mcp_pruner.drop_orphans($1)', [[...new Set(gone.map(({ snapshot }) => snapshot))]]);
  }
  return gone.length;
}

/** Deletes prunes by id, and texts that no other prune needs; returns their number. */
export async function erasePrunes(client: Queryable, pruneIds: readonly string[]): Promise<number> {
  const gone = await client.query<{ snapshot: number }>(
    'DELETE FROM mcp_pruner.prune WHERE prune_id = ANY ($1) RETURNING snapshot',
    [pruneIds],
  );
  if (gone.length > 0) await client.query('SELECT mcp_pruner.drop_orphans($1)', [gone.map(({ snapshot }) => snapshot)]);
  return gone.length;
}

/** Deletes a text by its row, with all its prunes, also those that another transaction is adding. @returns their ids */
export async function removeText(client: Queryable, snapshot: number): Promise<string[]> {
  await client.query('SELECT 1 FROM mcp_pruner.snapshot WHERE id = $1 FOR UPDATE', [snapshot]); // ends what adds prunes
  const gone = await client.query<{ prune_id: string }>(
    'DELETE FROM mcp_pruner.prune WHERE snapshot = $1 RETURNING prune_id',
    [snapshot],
  );
  await client.query('SELECT mcp_pruner.drop_orphans($1)', [[snapshot]]);
  return gone.map(({ prune_id }) => prune_id);
}

async function removeBy(
  client: Queryable,
  table: string,
  key: string,
  where: string,
  value: number,
  limit: number,
): Promise<number> {
  const [gone] = await client.query<{ count: number }>(
    `WITH gone AS (DELETE FROM mcp_pruner.${table} WHERE ${key} IN (
       SELECT ${key} FROM mcp_pruner.${table} WHERE ${where} LIMIT ${limit} FOR UPDATE SKIP LOCKED) RETURNING 1)
     SELECT count(*) AS count FROM gone`,
    [value],
  );
  return gone?.count ?? 0;
}

async function remove(
  client: Queryable,
  table: string,
  where: string,
  values: readonly unknown[],
  limit: number,
): Promise<number> {
  const [gone] = await client.query<{ count: number }>(
    `WITH gone AS (DELETE FROM mcp_pruner.${table} WHERE id IN (
       SELECT id FROM mcp_pruner.${table} WHERE ${where} LIMIT ${limit} FOR UPDATE SKIP LOCKED) RETURNING 1)
     SELECT count(*) AS count FROM gone`,
    values.map((value) => (value === Infinity ? Number.MAX_SAFE_INTEGER : value)),
  );
  return gone?.count ?? 0;
}

/** Aggregates the counters since the last call; returns the stored bytes. */
async function addUp(client: Queryable): Promise<number> {
  const [row] = await client.query<{ value: number }>(
    `WITH counted AS (DELETE FROM mcp_pruner.meter_delta RETURNING name, value),
          sums AS (SELECT name, sum(value)::bigint AS value FROM counted GROUP BY name),
          added AS (UPDATE mcp_pruner.meter m SET value = m.value + s.value FROM sums s WHERE m.name = s.name
                    RETURNING m.name, m.value)
     SELECT coalesce((SELECT value FROM added WHERE name = 'stored_bytes'), value) AS value
     FROM mcp_pruner.meter WHERE name = 'stored_bytes'`,
  );
  return row?.value ?? 0;
}
