import type { Database } from 'better-sqlite3';
import type { Decisions } from './decisions.ts';

/** Deletes prunes so that nothing of their originals is left in the file's free pages. */
export class Eraser {
  readonly #db: Database;
  readonly #decisions: Decisions;

  constructor(db: Database, decisions: Decisions) {
    this.#db = db;
    this.#decisions = decisions;
  }

  /** Inside the caller's transaction. Returns how many of them were there. */
  erase(pruneIds: readonly string[]): number {
    const rows = pruneIds.flatMap((pruneId) => this.#decisions.prune(pruneId) ?? []);
    if (rows.length === 0) return 0;
    this.#db.pragma('secure_delete = ON');
    try {
      for (const { id } of rows) this.#decisions.removePrune(id);
    } finally {
      this.#db.pragma('secure_delete = OFF');
    }
    return rows.length;
  }
}
