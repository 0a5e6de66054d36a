import type { Statements } from './statements.ts';

/** Bounds of stored answers, in number and bytes; beyond them the earliest to expire are deleted. */
const MAX_REPLIES = 10_000;
const MAX_REPLY_BYTES = 256 * 1024 * 1024;

/** The bounds of stored answers. */
export class Replies {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Deletes expired and surplus answers, about `limit` rows at most. @returns their number */
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
