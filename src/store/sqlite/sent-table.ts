import type { Database } from 'better-sqlite3';

/** More messages with cuts than a team makes in a lifetime of the records; past it the oldest go. */
const MAX_ROWS = 400_000;

interface SentRow {
  readonly body: string;
  readonly expires_ms: number;
}

/** What was sent of messages, by their prefixes. Rows are returned whether expired or not. */
export class SentTable {
  readonly #find;
  readonly #put;
  readonly #expire;
  readonly #excess;
  readonly #forget;

  constructor(db: Database) {
    this.#find = db.prepare<[string], SentRow>('SELECT body, expires_ms FROM sent WHERE prefix = ?');
    this.#put = db.prepare<[string, string, number]>('REPLACE INTO sent (prefix, body, expires_ms) VALUES (?, ?, ?)');
    this.#forget = db.prepare<[string]>('DELETE FROM sent WHERE instr(body, ?) > 0');
    this.#expire = db.prepare<[number, number]>(
      'DELETE FROM sent WHERE id IN (SELECT id FROM sent WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)',
    );
    this.#excess = db.prepare<[number, number]>(
      'DELETE FROM sent WHERE id IN (SELECT id FROM sent WHERE id <= (SELECT max(id) FROM sent) - ? ORDER BY id LIMIT ?)',
    );
  }

  /** Deletes what was sent with the cuts of a prune: a cut's reason may hold words of the text. Looks at every row. */
  forget(pruneId: string): void {
    this.#forget.run(pruneId);
  }

  find(prefix: string): SentRow | undefined {
    return this.#find.get(prefix);
  }

  put(prefix: string, body: string, expiresMs: number): void {
    this.#put.run(prefix, body, expiresMs);
  }

  /** Deletes at most `limit` rows that have expired, and as many beyond the bound; returns how many. */
  trim(nowMs: number, limit: number): number {
    return this.#expire.run(nowMs, limit).changes + this.#excess.run(MAX_ROWS, limit).changes;
  }
}
