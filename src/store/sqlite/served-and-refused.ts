import type { Database } from 'better-sqlite3';

/** As many conversations as `refused` hands out. */
const MAX_REFUSED = 10_000;
const MAX_SERVED = 100_000;

/** What the proxy must not prune: texts that recovery served, and conversations whose upstream refused a prune. */
export class ServedAndRefused {
  readonly #serve;
  readonly #served;
  readonly #refuse;
  readonly #refused;
  readonly #boundServed;
  readonly #boundRefused;
  readonly #expireServed;
  readonly #expireRefused;

  constructor(db: Database) {
    this.#serve = db.prepare<[string, number]>(
      `INSERT INTO served (hash, expires_ms) VALUES (?, ?)
       ON CONFLICT (hash) DO UPDATE SET expires_ms = max(expires_ms, excluded.expires_ms)`,
    );
    this.#served = db.prepare<[string], number>('SELECT expires_ms FROM served WHERE hash = ?').pluck();
    // replacing gives a new row number, hence the newest place in the order
    this.#refuse = db.prepare<[string, number]>('REPLACE INTO left_alone (prefix_hash, expires_ms) VALUES (?, ?)');
    this.#refused = db
      .prepare<[number, number], string>(
        'SELECT prefix_hash FROM left_alone WHERE expires_ms > ? ORDER BY id DESC LIMIT ?',
      )
      .pluck();
    this.#boundServed = db.prepare<[number]>('DELETE FROM served WHERE id <= (SELECT max(id) FROM served) - ?');
    this.#boundRefused = db.prepare<[number]>(
      'DELETE FROM left_alone WHERE id <= (SELECT max(id) FROM left_alone) - ?',
    );
    this.#expireServed = db.prepare<[number, number]>(
      'DELETE FROM served WHERE id IN (SELECT id FROM served WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)',
    );
    this.#expireRefused = db.prepare<[number, number]>(
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

  refuse(prefixHash: string, expiresMs: number): void {
    this.#refuse.run(prefixHash, expiresMs);
    this.#boundRefused.run(MAX_REFUSED);
  }

  /** Newest first. */
  refused(nowMs: number): string[] {
    return this.#refused.all(nowMs, MAX_REFUSED);
  }

  /** Deletes at most `limit` expired marks of each kind; returns how many. */
  expire(nowMs: number, limit: number): number {
    return this.#expireServed.run(nowMs, limit).changes + this.#expireRefused.run(nowMs, limit).changes;
  }
}
