import type { Database } from 'better-sqlite3';
import type { Reply } from '../../core/ports/records.ts';

/** Kept answers are bounded in number and in size; beyond it those that expire first go. */
const MAX_REPLIES = 10_000;
const MAX_REPLY_BYTES = 256 * 1024 * 1024;

interface ReplyRow {
  readonly args_hash: string;
  readonly text: string | null;
}

/** Answers by tool and key. */
export class Replies {
  readonly #find;
  readonly #forget;
  readonly #claim;
  readonly #keep;
  readonly #drop;
  readonly #dropClaim;
  readonly #hold;
  readonly #dropPrunes;
  readonly #expire;
  readonly #sizes;
  readonly #trim;

  constructor(db: Database) {
    this.#find = db.prepare<[string, string], ReplyRow>('SELECT args_hash, text FROM reply WHERE tool = ? AND key = ?');
    this.#forget = db.prepare<[string, string, number]>(
      'DELETE FROM reply WHERE tool = ? AND key = ? AND expires_ms <= ?',
    );
    this.#claim = db.prepare<[string, string, string, number]>(
      'INSERT INTO reply (tool, key, args_hash, bytes, expires_ms) VALUES (?, ?, ?, 0, ?)',
    );
    this.#keep = db.prepare<[string, string, string, string, number, number]>(
      `INSERT INTO reply (tool, key, args_hash, text, bytes, expires_ms) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (tool, key) DO UPDATE
       SET text = excluded.text, bytes = excluded.bytes, expires_ms = excluded.expires_ms
       WHERE reply.text IS NULL AND reply.args_hash = excluded.args_hash`,
    );
    this.#drop = db.prepare<[string, string]>('DELETE FROM reply WHERE tool = ? AND key = ?');
    this.#dropClaim = db.prepare<[string, string]>('DELETE FROM reply WHERE tool = ? AND key = ? AND text IS NULL');
    this.#hold = db.prepare<[number, string, string]>(
      'UPDATE reply SET expires_ms = ? WHERE tool = ? AND key = ? AND text IS NULL',
    );
    this.#dropPrunes = db.prepare("DELETE FROM reply WHERE text IS NOT NULL AND instr(text, 'prn_') > 0");
    this.#expire = db.prepare<[number, number]>(
      'DELETE FROM reply WHERE id IN (SELECT id FROM reply WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)',
    );
    this.#sizes = db.prepare<[], { count: number; bytes: number }>(
      'SELECT count(*) AS count, total(bytes) AS bytes FROM reply',
    );
    this.#trim = db.prepare<[number]>(
      'DELETE FROM reply WHERE id IN (SELECT id FROM reply ORDER BY expires_ms LIMIT ?)',
    );
  }

  /** As `Records.claimReply`, inside the caller's transaction. */
  claim(tool: string, key: string, argsHash: string, nowMs: number, expiresMs: number): Reply | null {
    this.#forget.run(tool, key, nowMs);
    const row = this.#find.get(tool, key);
    if (row) return { argsHash: row.args_hash, text: row.text };
    this.#claim.run(tool, key, argsHash, expiresMs);
    return null;
  }

  /** As `Records.keepReply`, inside the caller's transaction. */
  keep(tool: string, key: string, argsHash: string, text: string, expiresMs: number): string {
    this.#keep.run(tool, key, argsHash, text, Buffer.byteLength(text), expiresMs);
    const row = this.#find.get(tool, key);
    return row?.args_hash === argsHash ? (row.text ?? text) : text;
  }

  /** As `Records.holdReply`, inside the caller's transaction. */
  hold(tool: string, key: string, expiresMs: number): void {
    this.#hold.run(expiresMs, tool, key);
  }

  drop(tool: string, key: string, kept: boolean): void {
    (kept ? this.#drop : this.#dropClaim).run(tool, key);
  }

  /** Deletes every answer that names a prune: it may hold lines of one that was erased, or of the same text. */
  forgetPrunes(): void {
    this.#dropPrunes.run();
  }

  /** Deletes what has expired, and what is too much; at most about `limit` rows. @returns how many */
  trim(nowMs: number, limit: number): number {
    const expired = this.#expire.run(nowMs, limit).changes;
    const { count, bytes } = this.#sizes.get() ?? { count: 0, bytes: 0 };
    const tooMany = Math.max(0, count - MAX_REPLIES);
    const tooLarge = bytes > MAX_REPLY_BYTES ? Math.max(1, Math.floor(count / 8)) : 0;
    const surplus = Math.min(limit, Math.max(tooMany, tooLarge));
    return expired + (surplus > 0 ? this.#trim.run(surplus).changes : 0);
  }
}
