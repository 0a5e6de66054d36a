import type { AccessKey, CountedSpan, KeyChange, KeyStore, LimitedSpan, Toll } from '../../core/ports/keys.ts';
import {
  changedColumns,
  KEPT_MS,
  KEY_COLUMNS,
  KEY_LISTS,
  type KeyRow,
  keyOf,
  keyValues,
  MAX_KEYS,
} from '../key-rows.ts';
import type { Access } from './access.ts';

/** How long counting a request waits for another writer, in milliseconds. */
const COUNT_WAIT_MS = 1_000;

/** `KeyStore` on the tables of a store's file. */
export class FileKeys implements KeyStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  generation(): Promise<number> {
    return this.#access.read(({ meter }) => meter('key_generation'));
  }

  async all(): Promise<readonly AccessKey[]> {
    return (await this.#access.all<KeyRow>(KEY_LISTS.all)).map(keyOf);
  }

  async list({ after = null, limit }: { after?: string | null | undefined; limit: number }) {
    return (await this.#access.all<KeyRow>(KEY_LISTS.page, [after, after, limit])).map(keyOf);
  }

  counted(): Promise<readonly CountedSpan[]> {
    return this.#access.all(KEY_LISTS.counted);
  }

  create(keys: readonly AccessKey[]): Promise<boolean> {
    return this.#access.write(
      ({ sql }, nowMs) => {
        const forgetMs = nowMs - KEPT_MS;
        sql.run('DELETE FROM access_key WHERE revoked_ms < ? OR expires_ms < ?', [forgetMs, forgetMs]);
        if ((sql.value('SELECT count(*) FROM access_key') ?? 0) + keys.length > MAX_KEYS) return false;
        const create = `INSERT INTO access_key (${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
        for (const key of keys) sql.run(create, keyValues(key));
        return true;
      },
      { verify: true },
    );
  }

  async change(id: string, change: KeyChange): Promise<AccessKey | null> {
    const columns = changedColumns(change);
    const set = columns.map(([column]) => `${column} = ?`).join(', ');
    const values = columns.map(([, value]) => value);
    const changed = await this.#access.write(
      ({ sql }) => columns.length === 0 || sql.run(`UPDATE access_key SET ${set} ${UNREVOKED}`, [...values, id]) > 0,
      { verify: true },
    );
    const [row] = changed ? await this.#access.all<KeyRow>(KEY_LISTS.one, [id]) : [];
    return row && row.revoked_ms === null ? keyOf(row) : null;
  }

  async touch(used: ReadonlyMap<string, number>): Promise<void> {
    const touch = `INSERT INTO key_used (key, at_ms) SELECT id, ? FROM access_key WHERE id = ?
      ON CONFLICT (key) DO UPDATE SET at_ms = max(at_ms, excluded.at_ms)`;
    await this.#access.write(({ sql }) => {
      for (const [id, atMs] of used) sql.run(touch, [Math.trunc(atMs), id]);
    });
  }

  revoke(id: string, atMs: number): Promise<boolean> {
    const revoke = `UPDATE access_key SET revoked_ms = ? ${UNREVOKED}`;
    return this.#access.write(({ sql }) => sql.run(revoke, [Math.trunc(atMs), id]) > 0, { verify: true });
  }

  rotate(id: string, hash: string): Promise<boolean> {
    const rotate = `UPDATE access_key SET hash = ? ${UNREVOKED}`;
    return this.#access.write(({ sql }) => sql.run(rotate, [hash, id]) > 0, { verify: true });
  }

  count(id: string, tolls: readonly Toll[]): Promise<ReadonlySet<LimitedSpan>> {
    return this.#access.write(
      ({ sql }) => {
        const counted = tolls.filter(({ span, at, add, most }) => sql.run(COUNT, [id, span, at, add, most]) > 0);
        return new Set(counted.map(({ span }) => span));
      },
      { waitMs: COUNT_WAIT_MS },
    );
  }

  async correct(id: string, { span, at, add }: Pick<Toll, 'span' | 'at' | 'add'>): Promise<void> {
    const correct = 'UPDATE key_count SET used = max(0, used + ?) WHERE key = ? AND span = ? AND at = ?';
    await this.#access.write(({ sql }) => sql.run(correct, [add, id, span, at]));
  }
}

const UNREVOKED = 'WHERE id = ? AND revoked_ms IS NULL';
/** A process whose clock is behind uses the time span of the others. */
const COUNT = `
  INSERT INTO key_count AS c (key, span, at, used, most) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (key, span) DO UPDATE SET
    used = CASE WHEN c.at < excluded.at THEN 0 ELSE c.used END + excluded.used,
    at = max(c.at, excluded.at), most = excluded.most
  WHERE c.at < excluded.at OR c.used < excluded.most`;
