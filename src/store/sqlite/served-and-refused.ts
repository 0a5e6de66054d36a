import type { Statements } from './statements.ts';

/** The same number of conversations as `refused` returns. */
const MAX_REFUSED = 10_000;
const MAX_SERVED = 100_000;

/** Exceptions from pruning: texts served by recovery, and conversations whose upstream refused a prune. */
export class ServedAndRefused {
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

  /** Stored expiry of a served text, or `undefined`. */
  servedUntil(hash: string): number | undefined {
    return this.#sql.value('SELECT expires_ms FROM served WHERE hash = ?', [hash]);
  }

  refuse(prefixHash: string, expiresMs: number): void {
    // REPLACE assigns a new row number, hence the newest place in the order
    this.#sql.run('REPLACE INTO left_alone (prefix_hash, expires_ms) VALUES (?, ?)', [prefixHash, expiresMs]);
    this.#sql.run('DELETE FROM left_alone WHERE id <= (SELECT max(id) FROM left_alone) - ?', [MAX_REFUSED]);
  }

  /** Newest first. */
  refused(nowMs: number): string[] {
    const sql = 'SELECT prefix_hash FROM left_alone WHERE expires_ms > ? ORDER BY id DESC LIMIT ?';
    return this.#sql.column(sql, [nowMs, MAX_REFUSED]);
  }

  /** Deletes at most `limit` expired marks of each kind; returns their number. */
  expire(nowMs: number, limit: number): number {
    return this.#sql.expire('served', nowMs, limit) + this.#sql.expire('left_alone', nowMs, limit);
  }
}
