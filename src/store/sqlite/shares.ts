import type { Database } from 'better-sqlite3';

/** What the originals of each conversation take up in the file. */
export class Shares {
  readonly #charge;
  readonly #of;

  constructor(db: Database) {
    this.#charge = db.prepare<[string, string]>(
      `INSERT OR IGNORE INTO charge (prune, conversation, bytes)
       SELECT p.id, ?, s.stored_bytes FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE p.prune_id = ?`,
    );
    this.#of = db.prepare<[string], number>('SELECT bytes FROM conversation_bytes WHERE conversation = ?').pluck();
  }

  /** Charges a prune to the conversation that stored it, unless it is charged to one. Inside the caller's transaction. */
  charge(pruneId: string, conversation: string | undefined): void {
    if (conversation !== undefined) this.#charge.run(conversation, pruneId);
  }

  /** Bytes that the originals of a conversation take up. */
  of(conversation: string): number {
    return this.#of.get(conversation) ?? 0;
  }
}
