import type { Statements } from './statements.ts';

/** More messages with cuts than a team produces within the records' lifetime; beyond it the oldest are deleted. */
const MAX_ROWS = 400_000;

interface SentRow {
  readonly body: string;
  readonly expires_ms: number;
}

/** Sent-message records by their prefixes. Rows are returned whether expired or not. */
export class SentTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  find(prefix: string): SentRow | undefined {
    return this.#sql.get('SELECT body, expires_ms FROM sent WHERE prefix = ?', [prefix]);
  }

  put(prefix: string, body: string, expiresMs: number): void {
    this.#sql.run('REPLACE INTO sent (prefix, body, expires_ms) VALUES (?, ?, ?)', [prefix, body, expiresMs]);
  }

  /** Deletes at most `limit` expired rows, and as many beyond the bound; returns their number. */
  trim(nowMs: number, limit: number): number {
    const excess = 'SELECT id FROM sent WHERE id <= (SELECT max(id) FROM sent) - ? ORDER BY id LIMIT ?';
    const expired = this.#sql.expire('sent', nowMs, limit);
    return expired + this.#sql.run(`DELETE FROM sent WHERE id IN (${excess})`, [MAX_ROWS, limit]);
  }
}
