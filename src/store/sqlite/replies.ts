import type { Reply } from '../../core/ports/records.ts';
import type { Statements } from './statements.ts';

/** Bounds of stored answers, in number and bytes; beyond them the earliest to expire are deleted. */
const MAX_REPLIES = 10_000;
const MAX_REPLY_BYTES = 256 * 1024 * 1024;

interface ReplyRow {
  readonly args_hash: string;
  readonly text: string | null;
}

/** Stored answers by tool and key. */
export class Replies {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** As `Records.claimReply`, inside the caller's transaction. */
  claim(tool: string, key: string, argsHash: string, nowMs: number, expiresMs: number): Reply | null {
    this.#sql.run('DELETE FROM reply WHERE tool = ? AND key = ? AND expires_ms <= ?', [tool, key, nowMs]);
    const row = this.#find(tool, key);
    if (row) return { argsHash: row.args_hash, text: row.text };
    this.#sql.run('INSERT INTO reply (tool, key, args_hash, bytes, expires_ms) VALUES (?, ?, ?, 0, ?)', [
      tool,
      key,
      argsHash,
      expiresMs,
    ]);
    return null;
  }

  /** As `Records.keepReply`, inside the caller's transaction. */
  keep(tool: string, key: string, argsHash: string, text: string, expiresMs: number): string {
    this.#sql.run(
      `INSERT INTO reply (tool, key, args_hash, text, bytes, expires_ms) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (tool, key) DO UPDATE
       SET text = excluded.text, bytes = excluded.bytes, expires_ms = excluded.expires_ms
       WHERE reply.text IS NULL AND reply.args_hash = excluded.args_hash`,
      [tool, key, argsHash, text, Buffer.byteLength(text), expiresMs],
    );
    const row = this.#find(tool, key);
    return row?.args_hash === argsHash ? (row.text ?? text) : text;
  }

  #find(tool: string, key: string): ReplyRow | undefined {
    return this.#sql.get('SELECT args_hash, text FROM reply WHERE tool = ? AND key = ?', [tool, key]);
  }

  /** As `Records.holdReply`, inside the caller's transaction. */
  hold(tool: string, key: string, expiresMs: number): void {
    const sql = 'UPDATE reply SET expires_ms = ? WHERE tool = ? AND key = ? AND text IS NULL';
    this.#sql.run(sql, [expiresMs, tool, key]);
  }

  drop(tool: string, key: string, kept: boolean): void {
    this.#sql.run(`DELETE FROM reply WHERE tool = ? AND key = ?${kept ? '' : ' AND text IS NULL'}`, [tool, key]);
  }

  /** Deletes every answer that names a prune: it may contain lines of an erased one, or of the same text. */
  forgetPrunes(): void {
    this.#sql.run("DELETE FROM reply WHERE text IS NOT NULL AND instr(text, 'prn_') > 0");
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
