import type { Database } from 'better-sqlite3';
import type { Use } from '../pending-uses.ts';

/** The statements behind `PendingUses`, on one connection. */
export class UseTable {
  readonly #update;

  constructor(db: Database) {
    this.#update = {
      prune: db.prepare<[number, string]>('UPDATE prune SET expires_ms = max(expires_ms, ?) WHERE prune_id = ?'),
      whole: db.prepare<[number, string]>(
        'UPDATE decision SET expires_ms = max(expires_ms, ?) WHERE key = ? AND prune IS NULL',
      ),
      served: db.prepare<[number, string]>('UPDATE served SET expires_ms = max(expires_ms, ?) WHERE hash = ?'),
      sent: db.prepare<[number, string]>('UPDATE sent SET expires_ms = max(expires_ms, ?) WHERE prefix = ?'),
    };
  }

  /** Inside the caller's transaction. */
  write(uses: Iterable<Use>): void {
    for (const { kind, id, expiresMs } of uses) this.#update[kind].run(expiresMs, id);
  }
}
