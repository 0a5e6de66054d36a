import { storeReason } from '../../errors/errors.ts';
import type { StoreOptions, SweepLimits, SweepStep } from '../handle.ts';
import { MAX_STATES, MAX_TURNS, STATE_TTL_MS, WAITING_TTL_MS } from '../ledger-rows.ts';
import { livingMs, roomLimit, YEAR_MS } from '../lifetimes.ts';
import { trimLog } from '../logs.ts';
import type { PartTables } from '../part-tables.ts';
import { type PackedBytes, packBytes } from '../text-codec.ts';
import type { Access } from './access.ts';
import type { Checkpointer } from './connection-holder.ts';
import type { FileSql } from './file-sql.ts';
import type { Snapshots, Unpacked } from './snapshots.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';

/** Bytes compressed per step; larger texts get a step of their own. */
const STEP_PACK_BYTES = 524_288;
const STEP_PACK_COUNT = 8;
const STEP_VACUUM_PAGES = 64;
const STEP_USES = 2_000;

/** A text and its compressed form. */
type Packed = [Unpacked, PackedBytes];

/**
 * Keeps the store within its bounds, in small steps. A step deletes expired items, then events beyond `maxEvents`, then
 * the least recently used items beyond `maxBytes`. Waiting texts are compressed on the thread pool. When nothing else
 * is left to do, the write-ahead log is copied into the file.
 */
export class Sweeper {
  readonly #access: Access;
  readonly #sql: FileSql;
  readonly #checkpointer: Checkpointer | null;
  readonly #limits: SweepLimits;
  readonly #parts: readonly PartTables[];
  #checkpointedAt = 0;

  constructor(
    access: Access,
    sql: FileSql,
    checkpointer: Checkpointer | null,
    limits: SweepLimits & Pick<StoreOptions, 'parts'>,
  ) {
    this.#access = access;
    this.#sql = sql;
    this.#checkpointer = checkpointer;
    this.#limits = limits;
    this.#parts = limits.parts ?? [];
  }

  /** @throws StoreUnavailable */
  async step(): Promise<SweepStep> {
    const access = this.#access;
    if (access.usesWaiting > STEP_USES) {
      // nothing may expire while a use of it is pending
      await access.write(() => undefined, { verify: true, uses: STEP_USES });
      return { expired: 0, evicted: 0, packed: 0, pages: 0, more: true };
    }
    const cleared = await access.write(
      (tables, nowMs) => {
        const expired = expire(tables, nowMs, new Budget());
        const trimmed = this.#sql.run(tables, trimLog('event', this.#limits.maxEvents, STEP_ROWS));
        const audits = trimAudit(tables.sql, nowMs - (this.#limits.auditTtlMs ?? YEAR_MS), STEP_ROWS);
        const rows = trimLedger(tables.sql, nowMs, this.#limits.ledgerTtlMs ?? null, STEP_ROWS);
        const ofParts = this.#parts.map(({ sweep }) =>
          sweep ? this.#sql.run(tables, sweep(nowMs, this.#limits.ledgerTtlMs ?? null, STEP_ROWS)) : 0,
        );
        const forgotten = forget(tables, nowMs - this.#limits.ttlMs, new Budget());
        const lines = this.#sql.run(tables, trimLog('child_log', this.#limits.maxEvents, STEP_ROWS));
        const cut = lines + tables.replies.trim(nowMs, STEP_ROWS);
        const more =
          expired.more ||
          forgotten.more ||
          [trimmed, cut, audits, rows, ...ofParts].some((count) => count >= STEP_ROWS);
        return { done: expired.done + forgotten.done, more };
      },
      { verify: true, uses: STEP_USES },
    );
    const evicted = await access.write((tables, nowMs) => evict(tables, this.#limits, nowMs, new Budget()));
    const packed = await this.pack();
    const pages = await access.maintain((connection) => connection.shrink(STEP_VACUUM_PAGES));
    const more = cleared.more || evicted.more || packed > 0 || pages > 0 || access.usesWaiting > 0;
    if (!more) await this.#checkpoint();
    return { expired: cleared.done, evicted: evicted.done, packed, pages, more };
  }

  /** Compresses some of the waiting texts; returns their number. */
  async pack(): Promise<number> {
    const packed = await packSome(await this.#access.read(({ snapshots }) => nextToPack(snapshots)));
    if (packed.length > 0) await this.#putPacked(packed);
    return packed.length;
  }

  /** A separate write, so that the deletions stay committed even if a full disk has no room for compressed texts. */
  async #putPacked(packed: readonly Packed[]): Promise<void> {
    const put = (inOldRoom: boolean) =>
      this.#access.write(({ snapshots }) => {
        for (const [snapshot, data] of packed) snapshots.setPacked(snapshot, data, inOldRoom);
      });
    try {
      await put(false);
    } catch (error) {
      if (storeReason(error) !== 'full') throw error;
      await put(true);
    }
  }

  /** Only after changes, because a checkpoint costs fsyncs. */
  async #checkpoint(): Promise<void> {
    const changes = await this.#access.maintain((connection) => connection.changes());
    if (changes === this.#checkpointedAt) return;
    this.#checkpointedAt = changes;
    await this.#checkpointer?.run();
  }
}

/** Selects texts waiting for compression. */
function nextToPack(snapshots: Snapshots): [Unpacked, Buffer][] {
  const next: [Unpacked, Buffer][] = [];
  let bytes = 0;
  for (const row of snapshots.unpacked(STEP_PACK_COUNT)) {
    bytes += row.text_bytes;
    if (next.length > 0 && bytes > STEP_PACK_BYTES) break;
    const stored = snapshots.read(row.id);
    if (stored) next.push([row, stored.data]);
  }
  return next;
}

/** Compresses texts one by one, so that other users of the thread pool are not blocked. */
async function packSome(texts: readonly [Unpacked, Buffer][]): Promise<Packed[]> {
  const packed: Packed[] = [];
  for (const [snapshot, data] of texts) packed.push([snapshot, await packBytes(data)]);
  return packed;
}

/** Deletes expired rows and states, at most `limit` of each; returns the larger number of deletions. */
function trimLedger(sql: Statements, nowMs: number, ttlMs: number | null, limit: number): number {
  const before = (ms: number): number => Math.trunc(nowMs - ms);
  const [old, value] =
    ttlMs === null
      ? ['id <= (SELECT max(id) FROM ledger_turn) - ? ORDER BY id', MAX_TURNS]
      : ['at_ms < ? ORDER BY at_ms', before(ttlMs)];
  const oldest = `SELECT id FROM ledger_turn WHERE ${old} LIMIT ?`;
  const rows = sql.run(`DELETE FROM ledger_turn WHERE id IN (${oldest})`, [value, limit]);
  const surplus = (sql.value('SELECT count(*) FROM ledger_state') ?? 0) - MAX_STATES;
  const states = sql.run(
    `DELETE FROM ledger_state WHERE name IN (SELECT name FROM ledger_state WHERE at_ms < ? ORDER BY at_ms LIMIT ?)
     OR name IN (SELECT name FROM ledger_state ORDER BY at_ms LIMIT ?)`,
    [before(STATE_TTL_MS), limit, Math.min(limit, Math.max(0, surplus))],
  );
  sql.run('DELETE FROM ledger_waiting WHERE since_ms < ?', [before(WAITING_TTL_MS)]);
  return Math.max(rows, states);
}

/** Deletes old audit events, at most `limit`; returns their number. */
function trimAudit(sql: Statements, beforeMs: number, limit: number): number {
  const old = 'SELECT seq FROM event WHERE audit = 1 AND ts_ms < ? ORDER BY ts_ms LIMIT ?';
  return sql.run(`DELETE FROM event WHERE seq IN (${old})`, [Math.trunc(beforeMs), limit]);
}

/** Limits for the deletions of one sweep step, in milliseconds and rows, whichever is reached first. */
const STEP_MS = 4;
const STEP_ROWS = 500;
/** The remaining allowance of a step. */
export class Budget {
  readonly #endMs = performance.now() + STEP_MS;
  #rows = STEP_ROWS;

  /** Consumes one row; `false` when the allowance is used up. */
  take(): boolean {
    return this.#rows-- > 0 && performance.now() < this.#endMs;
  }
}

/** Result of a part of a step, and whether there is more to do. */
export interface Part {
  readonly done: number;
  readonly more: boolean;
}

/** Deletes expired items, oldest first, inside the caller's transaction. */
function expire({ decisions, marks, sent }: Tables, nowMs: number, budget: Budget): Part {
  let done = marks.expire(nowMs, STEP_ROWS) + sent.trim(nowMs, STEP_ROWS);
  const more = done >= STEP_ROWS;
  for (let row = decisions.oldestPrune(); row && row.expires_ms <= nowMs; row = decisions.oldestPrune()) {
    if (!budget.take()) return { done, more: true };
    decisions.removePrune(row.id);
    done++;
  }
  for (let row = decisions.oldestWhole(); row && row.expires_ms <= nowMs; row = decisions.oldestWhole()) {
    if (!budget.take()) return { done, more: true };
    decisions.removeWhole(row.id);
    done++;
  }
  return { done, more };
}

/**
 * Evicts the least recently used items until the stored bytes are within the limit, inside the caller's transaction.
 * While texts wait for compression, which may free enough, the limit is half-way to `roomLimit`.
 */
function evict(tables: Tables, { maxBytes, ttlMs }: SweepLimits, nowMs: number, budget: Budget): Part {
  const { decisions, snapshots, meter } = tables;
  const limit = snapshots.unpacked(1).length > 0 ? (maxBytes + roomLimit(maxBytes)) / 2 : maxBytes;
  const livingFrom = nowMs + ttlMs - livingMs(ttlMs);
  let done = 0;
  while (meter('stored_bytes') > limit) {
    if (!budget.take()) return { done, more: true };
    const prune = decisions.oldestPrune();
    const whole = decisions.oldestWhole();
    if (Math.min(prune?.expires_ms ?? Infinity, whole?.expires_ms ?? Infinity) > livingFrom) break;
    if (prune && (!whole || prune.expires_ms <= whole.expires_ms)) decisions.removePrune(prune.id);
    else if (whole) decisions.removeWhole(whole.id);
    else break;
    done++;
  }
  return { done, more: false };
}

/** Deletes conversations not seen for a lifetime and surplus directives, inside the caller's transaction. */
function forget({ segments, directives, meter }: Tables, beforeMs: number, budget: Budget): Part {
  const forgotten = segments.expire(beforeMs, budget, (conversation) => directives.dropSteps(conversation));
  const trimmed = directives.trim(meter('directives'), STEP_ROWS);
  return { done: forgotten.done + trimmed, more: forgotten.more || trimmed >= STEP_ROWS };
}
