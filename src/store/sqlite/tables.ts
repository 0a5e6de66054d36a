import type { Database } from 'better-sqlite3';
import { Decisions } from './decisions.ts';
import { Segments } from './segment-reads.ts';
import { Snapshots } from './snapshots.ts';
import { Statements } from './statements.ts';

/** Limit for sent-message records, more than a team produces within their lifetime. The oldest are deleted first. */
const MAX_SENT = 400_000;

/** Sent-message records by prefix. Expired rows are returned too. */
class SentTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Whether there is a record of any of these messages, expired or not. */
  hasAny(prefixes: readonly string[]): boolean {
    return this.#sql.allOf('SELECT 1 FROM sent WHERE prefix IN LIST(?) LIMIT 1', [prefixes]).length > 0;
  }

  /** Deletes at most `limit` expired rows, and as many beyond the row limit; returns their number. */
  trim(nowMs: number, limit: number): number {
    const excess = 'SELECT id FROM sent WHERE id <= (SELECT max(id) FROM sent) - ? ORDER BY id LIMIT ?';
    const expired = this.#sql.expire('sent', nowMs, limit);
    return expired + this.#sql.run(`DELETE FROM sent WHERE id IN (${excess})`, [MAX_SENT, limit]);
  }
}

/** Equals the maximum number of conversations that `refused` returns. */
const MAX_REFUSED = 10_000;
const MAX_SERVED = 100_000;

/** Exceptions from pruning: texts served by recovery, and conversations whose upstream refused a prune. */
class ServedAndRefused {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  serve(hash: string, expiresMs: number): void {
    this.#sql.run(
      `INSERT INTO served (hash, expires_ms) VALUES (?, ?)
       ON CONFLICT (hash) DO UPDATE SET expires_ms = max(expires_ms, excluded.expires_ms)`,
      [hash, expiresMs],
    );
    this.#sql.run('DELETE FROM served WHERE id <= (SELECT max(id) FROM served) - ?', [MAX_SERVED]);
  }

  refuse(prefixHash: string, expiresMs: number): void {
    // REPLACE assigns a new row number, and thereby moves the row to the newest position
    this.#sql.run('REPLACE INTO left_alone (prefix_hash, expires_ms) VALUES (?, ?)', [prefixHash, expiresMs]);
    this.#sql.run('DELETE FROM left_alone WHERE id <= (SELECT max(id) FROM left_alone) - ?', [MAX_REFUSED]);
  }

  /** Refused conversations, newest first. */
  refused(nowMs: number): string[] {
    const sql = 'SELECT prefix_hash FROM left_alone WHERE expires_ms > ? ORDER BY id DESC LIMIT ?';
    return this.#sql.column(sql, [nowMs, MAX_REFUSED]);
  }

  /** Deletes at most `limit` expired marks of each kind; returns their number. */
  expire(nowMs: number, limit: number): number {
    return this.#sql.expire('served', nowMs, limit) + this.#sql.expire('left_alone', nowMs, limit);
  }
}

/** Beyond this limit the oldest are deleted. */
const MAX_DIRECTIVES = 50_000;

/** Enforces the limits of directives. */
class DirectiveTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Deletes the oldest directives beyond the limit; returns their number. */
  trim(count: number, limit: number): number {
    this.#sql.run(
      `DELETE FROM directive_generation
       WHERE NOT EXISTS (SELECT 1 FROM directive d WHERE d.project = directive_generation.project)
       AND generation < (SELECT value FROM meter WHERE name = 'directive_generation') - 1000`,
    );
    if (count <= MAX_DIRECTIVES) return 0;
    return this.#sql.run('DELETE FROM directive WHERE id IN (SELECT id FROM directive ORDER BY id LIMIT ?)', [
      Math.min(count - MAX_DIRECTIVES, limit),
    ]);
  }

  /** Deletes the steps of a removed conversation, unless another conversation has the same first words. */
  dropSteps(conversation: number): void {
    this.#sql.run(
      `DELETE FROM directive WHERE id IN (
         SELECT d.id FROM step t JOIN directive d ON d.project = t.project AND d.scope = t.scope WHERE t.id IN (${STEPS_IN}))`,
      [conversation],
    );
    this.#sql.run(`DELETE FROM step WHERE id IN (${STEPS_IN})`, [conversation]);
  }
}

/**
 * Steps are recorded under the plain project and a content id (`base/conversation-ids.ts`), which is the suffix of
 * conversation names. Conversations with a verified history have a separate project key.
 */
const STEPS_IN = `SELECT t.id FROM step t JOIN conversation c
  ON c.project IN (t.project, t.project || char(10) || 'bound') AND substr(c.name, -32) = t.conversation
  WHERE c.id = ? AND NOT EXISTS (SELECT 1 FROM conversation o
    WHERE o.project IN (t.project, t.project || char(10) || 'bound') AND o.id <> c.id AND substr(o.name, -32) = t.conversation)`;

/** Limits for stored replies, in number and bytes; the earliest to expire are deleted first. */
const MAX_REPLIES = 10_000;
const MAX_REPLY_BYTES = 256 * 1024 * 1024;

/** Enforces the limits of stored replies. */
class Replies {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Deletes expired and surplus replies, about `limit` rows at most. @returns their number */
  trim(nowMs: number, limit: number): number {
    const expired = this.#sql.expire('reply', nowMs, limit);
    const { count, bytes } = this.#sql.get<{ count: number; bytes: number }>(
      'SELECT count(*) AS count, total(bytes) AS bytes FROM reply',
    ) ?? { count: 0, bytes: 0 };
    const tooMany = Math.max(0, count - MAX_REPLIES);
    const tooLarge = bytes > MAX_REPLY_BYTES ? Math.max(1, Math.floor(count / 8)) : 0;
    const surplus = Math.min(limit, Math.max(tooMany, tooLarge));
    if (surplus <= 0) return expired;
    const oldest = 'SELECT id FROM reply ORDER BY expires_ms LIMIT ?';
    return expired + this.#sql.run(`DELETE FROM reply WHERE id IN (${oldest})`, [surplus]);
  }
}

export type Meter =
  | 'deleted_generation'
  | 'stored_bytes'
  | 'prunes'
  | 'snapshots'
  | 'directive_generation'
  | 'directives'
  | 'key_generation'
  | 'prunes_adopted';

/** All tables of one connection. */
export interface Tables {
  readonly sql: Statements;
  readonly snapshots: Snapshots;
  readonly decisions: Decisions;
  readonly marks: ServedAndRefused;
  readonly segments: Segments;
  readonly directives: DirectiveTable;
  readonly replies: Replies;
  readonly sent: SentTable;
  /** Value of a counter maintained by the schema's triggers. */
  meter(name: Meter): number;
}

export function tablesOn(db: Database): Tables {
  const sql = new Statements(db);
  const snapshots = new Snapshots(sql);
  return {
    sql,
    snapshots,
    decisions: new Decisions(sql, snapshots),
    marks: new ServedAndRefused(sql),
    segments: new Segments(sql),
    directives: new DirectiveTable(sql),
    replies: new Replies(sql),
    sent: new SentTable(sql),
    meter: (name) => sql.value('SELECT value FROM meter WHERE name = ?', [name]) ?? 0,
  };
}
