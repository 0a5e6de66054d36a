import type { Database } from 'better-sqlite3';
import type { AccessKey, KeyStore, LimitedSpan, Toll } from '../../core/ports/keys.ts';
import { KEPT_MS, KEY_COLUMNS, type KeyRow, keyOf, keyValues, MAX_KEYS } from '../key-rows.ts';
import type { Access } from './access.ts';

/** How long the counting of a request waits for another writer, in milliseconds. */
const COUNT_WAIT_MS = 1_000;

/** `KeyStore` on the tables of a store's file. */
export class FileKeys implements KeyStore {
  readonly #access: Access;
  readonly #prepared = new WeakMap<Database, ReturnType<typeof prepare>>();

  constructor(access: Access) {
    this.#access = access;
  }

  generation(): Promise<number> {
    return this.#access.read(({ meter }) => meter('key_generation'));
  }

  all(): Promise<readonly AccessKey[]> {
    return this.#access.read(({ db }) => this.#on(db).all.all().map(keyOf));
  }

  create(key: AccessKey): Promise<boolean> {
    return this.#access.write(
      ({ db }, nowMs) => {
        const { forget, count, create } = this.#on(db);
        forget.run(nowMs - KEPT_MS, nowMs - KEPT_MS);
        if ((count.get() ?? 0) >= MAX_KEYS) return false;
        create.run(...keyValues(key));
        return true;
      },
      { verify: true },
    );
  }

  revoke(id: string, atMs: number): Promise<boolean> {
    return this.#access.write(({ db }) => this.#on(db).revoke.run(Math.trunc(atMs), id).changes > 0, { verify: true });
  }

  rotate(id: string, hash: string): Promise<boolean> {
    return this.#access.write(({ db }) => this.#on(db).rotate.run(hash, id).changes > 0, { verify: true });
  }

  count(id: string, tolls: readonly Toll[]): Promise<ReadonlySet<LimitedSpan>> {
    return this.#access.write(
      ({ db }) => {
        const { countOn } = this.#on(db);
        return new Set(
          tolls.flatMap(({ span, at, add, most }) => (countOn.run(id, span, at, add, most).changes > 0 ? span : [])),
        );
      },
      { waitMs: COUNT_WAIT_MS },
    );
  }

  async correct(id: string, { span, at, add }: Pick<Toll, 'span' | 'at' | 'add'>): Promise<void> {
    await this.#access.write(({ db }) => this.#on(db).correct.run(add, id, span, at));
  }

  #on(db: Database): ReturnType<typeof prepare> {
    const known = this.#prepared.get(db) ?? prepare(db);
    this.#prepared.set(db, known);
    return known;
  }
}

function prepare(db: Database) {
  return {
    all: db.prepare<[], KeyRow>(`SELECT ${KEY_COLUMNS} FROM access_key ORDER BY created_ms, id`),
    forget: db.prepare<[number, number]>('DELETE FROM access_key WHERE revoked_ms < ? OR expires_ms < ?'),
    count: db.prepare<[], number>('SELECT count(*) FROM access_key').pluck(),
    create: db.prepare<unknown[]>(`INSERT INTO access_key (${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    revoke: db.prepare<[number, string]>('UPDATE access_key SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL'),
    rotate: db.prepare<[string, string]>('UPDATE access_key SET hash = ? WHERE id = ? AND revoked_ms IS NULL'),
    // a process whose clock is behind counts on in the span that others are in
    countOn: db.prepare<[string, string, number, number, number]>(
      `INSERT INTO key_count AS c (key, span, at, used, most) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (key, span) DO UPDATE SET
         used = CASE WHEN c.at < excluded.at THEN 0 ELSE c.used END + excluded.used,
         at = max(c.at, excluded.at), most = excluded.most
       WHERE c.at < excluded.at OR c.used < excluded.most`,
    ),
    correct: db.prepare<[number, string, string, number]>(
      'UPDATE key_count SET used = max(0, used + ?) WHERE key = ? AND span = ? AND at = ?',
    ),
  };
}
