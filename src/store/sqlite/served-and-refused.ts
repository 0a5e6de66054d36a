import type { Database } from 'better-sqlite3';

/** As many conversations as `leftAlone` hands out. */
const MAX_LEFT_ALONE = 10_000;
const MAX_SERVED = 100_000;

/** What the proxy must not prune: texts that recovery served, and conversations whose upstream refused a prune. */
export class ServedAndRefused {
  readonly #serve;
  readonly #served;
  readonly #leave;
  readonly #left;
  readonly #boundServed;
  readonly #boundLeft;
  readonly #expireServed;
  readonly #expireLeft;

  constructor(db: Database) {
    this.#serve = db.prepare<[string, number]>(
      `INSERT INTO served (hash, expires_ms) VALUES (?, ?)
       ON CONFLICT (hash) DO UPDATE SET expires_ms = max(expires_ms, excluded.expires_ms)`,
    );
    this.#served = db.prepare<[string], number>('SELECT expires_ms FROM served WHERE hash = ?').pluck();
    // replacing gives a new row number, hence the newest place in the order
    this.#leave = db.prepare<[string, number]>('REPLACE INTO left_alone (prefix_hash, expires_ms) VALUES (?, ?)');
    this.#left = db
      .prepare<[number, number], string>(
        'SELECT prefix_hash FROM left_alone WHERE expires_ms > ? ORDER BY id DESC LIMIT ?',
      )
      .pluck();
    this.#boundServed = db.prepare<[number]>('DELETE FROM served WHERE id <= (SELECT max(id) FROM served) - ?');
    this.#boundLeft = db.prepare<[number]>('DELETE FROM left_alone WHERE id <= (SELECT max(id) FROM left_alone) - ?');
    this.#expireServed = db.prepare<[number, number]>(
      'DELETE FROM served WHERE id IN (SELECT id FROM served WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)',
    );
    this.#expireLeft = db.prepare<[number, number]>(
      'DELETE FROM left_alone WHERE id IN (SELECT id FROM left_alone WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)',
    );
  }

  serve(hash: string, expiresMs: number): void {
    this.#serve.run(hash, expiresMs);
    this.#boundServed.run(MAX_SERVED);
  }

  /** Stored expiry of a served text, or `undefined`. */
  servedUntil(hash: string): number | undefined {
    return this.#served.get(hash);
  }

  leaveAlone(prefixHash: string, expiresMs: number): void {
    this.#leave.run(prefixHash, expiresMs);
    this.#boundLeft.run(MAX_LEFT_ALONE);
  }

  /** Newest first. */
  leftAlone(nowMs: number): string[] {
    return this.#left.all(nowMs, MAX_LEFT_ALONE);
  }

  /** Deletes at most `limit` expired marks of each kind; returns how many. */
  expire(nowMs: number, limit: number): number {
    return this.#expireServed.run(nowMs, limit).changes + this.#expireLeft.run(nowMs, limit).changes;
  }
}
