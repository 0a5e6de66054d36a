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
import type { Rows } from '../sql/rows.ts';
import type { Database } from './database.ts';
import { columnsOf, stored } from './database-sql.ts';
import type { DatabaseParts } from './record-store.ts';

const WAIT_MS = 5_000;
/** Time limit for counting a request, in milliseconds. */
const COUNT_WAIT_MS = 1_000;

/** `KeyStore` on PostgreSQL. */
export class DatabaseKeys implements KeyStore {
  readonly #database: Database;
  readonly #rows: Rows;

  constructor({ database, rows }: DatabaseParts) {
    this.#database = database;
    this.#rows = rows;
  }

  async generation(): Promise<number> {
    const [row] = await this.#database.query<{ value: number }>(
      "SELECT value FROM mcp_pruner.meter WHERE name = 'key_generation'",
    );
    return row?.value ?? 0;
  }

  async all(): Promise<readonly AccessKey[]> {
    return (await this.#rows.all<KeyRow>(KEY_LISTS.all)).map(keyOf);
  }

  async list({ after = null, limit }: { after?: string | null | undefined; limit: number }) {
    return (await this.#rows.all<KeyRow>(KEY_LISTS.page, [after, after, limit])).map(keyOf);
  }

  counted(): Promise<readonly CountedSpan[]> {
    return this.#rows.all(KEY_LISTS.counted);
  }

  create(keys: readonly AccessKey[]): Promise<boolean> {
    const forgetMs = this.#rows.nowMs() - KEPT_MS;
    return this.#database.transaction(async (client) => {
      await client.query('DELETE FROM mcp_pruner.access_key WHERE revoked_ms < $1 OR expires_ms < $1', [forgetMs]);
      const rows = await client.query(
        `INSERT INTO mcp_pruner.access_key (${KEY_COLUMNS})
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
           $9::bigint[], $10::float8[])
         WHERE (SELECT count(*) FROM mcp_pruner.access_key) + $11 <= ${MAX_KEYS} RETURNING id`,
        [...columnsOf(keys.map(keyValues), 10), keys.length],
      );
      return rows.length > 0;
    }, WAIT_MS);
  }

  async change(id: string, change: KeyChange): Promise<AccessKey | null> {
    const columns = changedColumns(change);
    const set = columns.map(([column], i) => `${column} = $${i + 2}`).join(', ');
    if (columns.length > 0) {
      const values = columns.map(([, value]) => stored(value));
      const update = `UPDATE mcp_pruner.access_key SET ${set} WHERE id = $1 AND revoked_ms IS NULL`;
      await this.#database.write(update, [id, ...values]);
    }
    const [row] = await this.#rows.all<KeyRow>(KEY_LISTS.one, [id]);
    return row && row.revoked_ms === null ? keyOf(row) : null;
  }

  async touch(used: ReadonlyMap<string, number>): Promise<void> {
    await this.#database.write(
      `INSERT INTO mcp_pruner.key_used AS u (key, at_ms)
       SELECT k.id, x.at FROM unnest($1::text[], $2::bigint[]) x (id, at) JOIN mcp_pruner.access_key k ON k.id = x.id ORDER BY k.id
       ON CONFLICT (key) DO UPDATE SET at_ms = greatest(u.at_ms, excluded.at_ms)`,
      [[...used.keys()], [...used.values()].map(Math.trunc)],
    );
  }

  async revoke(id: string, atMs: number): Promise<boolean> {
    const rows = await this.#database.write(
      'UPDATE mcp_pruner.access_key SET revoked_ms = $1 WHERE id = $2 AND revoked_ms IS NULL RETURNING id',
      [Math.trunc(atMs), id],
    );
    return rows.length > 0;
  }

  async rotate(id: string, hash: string): Promise<boolean> {
    const rows = await this.#database.write(
      'UPDATE mcp_pruner.access_key SET hash = $1 WHERE id = $2 AND revoked_ms IS NULL RETURNING id',
      [hash, id],
    );
    return rows.length > 0;
  }

  async count(id: string, tolls: readonly Toll[]): Promise<ReadonlySet<LimitedSpan>> {
    const rows = await this.#database.write<{ span: LimitedSpan }>(
      COUNT,
      [
        id,
        tolls.map(({ span }) => span),
        tolls.map(({ at }) => at),
        tolls.map(({ add }) => add),
        tolls.map(({ most }) => most),
      ],
      COUNT_WAIT_MS,
    );
    return new Set(rows.map(({ span }) => span));
  }

  async correct(id: string, { span, at, add }: Pick<Toll, 'span' | 'at' | 'add'>): Promise<void> {
    await this.#database.write(
      'UPDATE mcp_pruner.key_count SET used = greatest(0, used + $1) WHERE key = $2 AND span = $3 AND at = $4',
      [add, id, span, at],
    );
  }
}

/** One statement, one round trip. A process whose clock is behind uses the time span of the others. */
const COUNT = `
  INSERT INTO mcp_pruner.key_count AS c (key, span, at, used, most)
  SELECT $1, s, a, u, m FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) x (s, a, u, m) ORDER BY s
  ON CONFLICT (key, span) DO UPDATE SET
    used = CASE WHEN c.at < excluded.at THEN 0 ELSE c.used END + excluded.used,
    at = greatest(c.at, excluded.at), most = excluded.most
  WHERE c.at < excluded.at OR c.used < excluded.most
  RETURNING span`;
