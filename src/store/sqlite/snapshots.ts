import type { Database } from 'better-sqlite3';
import { encodeText, PACK_FROM_BYTES, type StoredText } from '../text-codec.ts';

/** A snapshot that nobody tried to compress yet. */
export interface Unpacked {
  readonly id: number;
  readonly hash: string;
  readonly text_bytes: number;
}

/** More than the write-ahead log has to spare by chance. */
const TRIED_BYTES = 65_536;

/** Original texts by their hash, each stored once however many prunes refer to it. */
export class Snapshots {
  readonly #idOf;
  readonly #insert;
  readonly #insertContent;
  readonly #deleteContent;
  readonly #contentOf;
  readonly #read;
  readonly #hashOf;
  readonly #dropOrphan;
  readonly #unpacked;
  readonly #setPacked;
  readonly #leaveRaw;
  readonly #room;

  constructor(db: Database) {
    this.#idOf = db.prepare<[string], number>('SELECT id FROM snapshot WHERE hash = ?').pluck();
    this.#insert = db.prepare<[string, number, number, number, number, number]>(
      'INSERT INTO snapshot (hash, encoding, packing, text_bytes, stored_bytes, content) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#insertContent = db.prepare<[Buffer]>('INSERT INTO content (data) VALUES (?)');
    this.#deleteContent = db.prepare<[number]>('DELETE FROM content WHERE id = ?');
    // by hash as well: a row number may have been given to another text while this one was being compressed
    this.#contentOf = db
      .prepare<[number, string], number>('SELECT content FROM snapshot WHERE id = ? AND hash = ? AND packing = 0')
      .pluck();
    this.#read = db.prepare<[number], StoredText>(
      `SELECT s.encoding, s.packing, s.text_bytes, c.data
       FROM snapshot s JOIN content c ON c.id = s.content WHERE s.id = ?`,
    );
    this.#hashOf = db.prepare<[number], string>('SELECT hash FROM snapshot WHERE id = ?').pluck();
    this.#dropOrphan = db.prepare<[number, number]>(
      'DELETE FROM snapshot WHERE id = ? AND NOT EXISTS (SELECT 1 FROM prune WHERE snapshot = ?)',
    );
    this.#unpacked = db.prepare<[number], Unpacked>(
      'SELECT id, hash, text_bytes FROM snapshot WHERE packing = 0 ORDER BY id LIMIT ?',
    );
    this.#setPacked = db.prepare<[number, number, number]>(
      'UPDATE snapshot SET packing = 1, stored_bytes = ?, content = ? WHERE id = ?',
    );
    this.#room = {
      take: db.prepare<[number]>('INSERT OR REPLACE INTO content (id, data) VALUES (-1, zeroblob(?))'),
      give: db.prepare('DELETE FROM content WHERE id = -1'),
    };
    this.#leaveRaw = db.prepare<[number]>('UPDATE snapshot SET packing = 2 WHERE id = ?');
  }

  /** Stores a text unless its hash is known; inside the caller's transaction. Returns its row. */
  put(hash: string, text: string): number {
    const known = this.#idOf.get(hash);
    if (known !== undefined) return known;
    const { encoding, data } = encodeText(text);
    const packing = data.length < PACK_FROM_BYTES ? 2 : 0;
    const content = Number(this.#insertContent.run(data).lastInsertRowid);
    return Number(this.#insert.run(hash, encoding, packing, data.length, data.length, content).lastInsertRowid);
  }

  /** Takes up room as an original would, and fails as that would; `giveRoom` gives it back. */
  takeRoom(): void {
    this.#room.take.run(TRIED_BYTES);
  }

  giveRoom(): void {
    this.#room.give.run();
  }

  /** The stored form of a text, or `undefined` when the row has gone. */
  read(id: number): StoredText | undefined {
    return this.#read.get(id);
  }

  /** What a row's text is known by; `undefined` when the row has gone. */
  hashOf(id: number): string | undefined {
    return this.#hashOf.get(id);
  }

  /** Deletes a text that no prune refers to any more. */
  dropOrphan(id: number): void {
    this.#dropOrphan.run(id, id);
  }

  /** Some texts that wait to be compressed, oldest first. */
  unpacked(limit: number): Unpacked[] {
    return this.#unpacked.all(limit);
  }

  /**
   * Puts the compressed form in place of the plain one; `null` marks it as not worth it.
   *
   * @param inOldRoom - in the pages of the plain one, the only ones there are on a full disk; elsewhere the file gets
   *   denser (by a seventh) when the compressed form is written before the plain one goes
   */
  setPacked({ id, hash }: Unpacked, packed: Buffer | null, inOldRoom = false): void {
    const plain = this.#contentOf.get(id, hash);
    if (plain === undefined) return; // deleted, or compressed by another process
    if (packed === null) {
      this.#leaveRaw.run(id);
      return;
    }
    if (inOldRoom) this.#deleteContent.run(plain);
    const content = Number(this.#insertContent.run(packed).lastInsertRowid);
    this.#setPacked.run(packed.length, content, id);
    if (!inOldRoom) this.#deleteContent.run(plain);
  }
}
