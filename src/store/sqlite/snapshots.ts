import type { PackedText } from '../../core/ports.ts';
import { encodeText, type PackedBytes, plainPacking, type StoredText } from '../text-codec.ts';
import type { Statements } from './statements.ts';

/** A snapshot whose compression has not been tried yet. */
export interface Unpacked {
  readonly id: number;
  readonly hash: string;
  readonly text_bytes: number;
}

/** Size of a trial write, larger than the free space that may remain in the write-ahead log. */
const TRIED_BYTES = 65_536;

/** Original texts by hash. Each is stored once, regardless of how many prunes refer to it. */
export class Snapshots {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Stores a text whose hash is not stored yet, inside the caller's transaction. Returns its row and stored size. */
  add(hash: string, text: string, packed: PackedText | undefined): { readonly id: number; readonly bytes: number } {
    const { encoding, packing, text_bytes, data } = packed ?? plainForm(text);
    const values = [hash, encoding, packing, text_bytes, data.length, this.#insertContent(data)];
    const id = this.#sql.insert(
      'INSERT INTO snapshot (hash, encoding, packing, text_bytes, stored_bytes, content) VALUES (?, ?, ?, ?, ?, ?)',
      values,
    );
    return { id, bytes: data.length };
  }

  /** Reserves room for an original, and fails like storing it would; undone by `releaseRoom`. */
  reserveRoom(): void {
    this.#sql.run('INSERT OR REPLACE INTO content (id, data) VALUES (-1, zeroblob(?))', [TRIED_BYTES]);
  }

  releaseRoom(): void {
    this.#deleteContent(-1);
  }

  /** The stored form of a text, or `undefined` if the row was deleted. */
  read(id: number): StoredText | undefined {
    return this.#sql.get(
      `SELECT s.encoding, s.packing, s.text_bytes, c.data
       FROM snapshot s JOIN content c ON c.id = s.content WHERE s.id = ?`,
      [id],
    );
  }

  /** The hash of a row's text; `undefined` if the row was deleted. */
  hashOf(id: number): string | undefined {
    return this.#sql.value('SELECT hash FROM snapshot WHERE id = ?', [id]);
  }

  /** Deletes a text unless a prune needs it; returns whether it was deleted. */
  dropOrphan(id: number): boolean {
    const orphan = 'id = ? AND NOT EXISTS (SELECT 1 FROM prune WHERE snapshot = ?)';
    return this.#sql.run(`DELETE FROM snapshot WHERE ${orphan}`, [id, id]) > 0;
  }

  /** Texts waiting for compression, oldest first. */
  unpacked(limit: number): Unpacked[] {
    return this.#sql.all('SELECT id, hash, text_bytes FROM snapshot WHERE packing = 0 ORDER BY id LIMIT ?', [limit]);
  }

  /**
   * Replaces the plain form by the compressed one, or marks it as not worth it.
   *
   * @param inOldRoom - deletes the plain form first and reuses its pages, the only free ones on a full disk. Otherwise
   * the compressed form is written first, which makes the file denser (by a seventh)
   */
  setPacked({ id, hash, text_bytes }: Unpacked, { packing, data }: PackedBytes, inOldRoom = false): void {
    // also by hash, because the row number may have been reused during the compression
    const ofText = 'SELECT content FROM snapshot WHERE id = ? AND hash = ? AND packing = 0';
    const plain = this.#sql.value(ofText, [id, hash]);
    if (plain === undefined) return; // deleted, or compressed by another process
    if (data.length === text_bytes) {
      this.#sql.run('UPDATE snapshot SET packing = ? WHERE id = ?', [packing, id]);
      return;
    }
    if (inOldRoom) this.#deleteContent(plain);
    const values = [packing, data.length, this.#insertContent(data), id];
    this.#sql.run('UPDATE snapshot SET packing = ?, stored_bytes = ?, content = ? WHERE id = ?', values);
    if (!inOldRoom) this.#deleteContent(plain);
  }

  #insertContent(data: Uint8Array): number {
    return this.#sql.insert('INSERT INTO content (data) VALUES (?)', [data]);
  }

  #deleteContent(id: number): void {
    this.#sql.run('DELETE FROM content WHERE id = ?', [id]);
  }
}

function plainForm(text: string): StoredText {
  const { encoding, data } = encodeText(text);
  return { encoding, packing: plainPacking(data), text_bytes: data.length, data };
}
