import { z } from 'zod';
import type {
  AccessKey,
  ChangedKey,
  CountedSpan,
  CounterIncrement,
  KeyChange,
  KeyPlace,
  KeyStore,
  LimitedSpan,
} from '../core/ports/keys.ts';
import { StoreUnavailable } from '../errors/errors.ts';
import { change, each, number, type Sql, type Steps, turn } from './sql/steps.ts';

/** A row of `access_key`. */
interface KeyRow {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  /** A JSON array of names. */
  readonly projects: string;
  readonly requests_per_minute: number | null;
  readonly tokens_per_day: number | null;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly revoked_ms: number | null;
  readonly dollars_per_month: number | null;
  readonly last_used_ms: number | null;
}

/** Maximum number of keys, including revoked ones, which are deleted after `KEPT_MS`. */
const MAX_KEYS = 100_000;
/** How long a revoked or expired key is still listed, in milliseconds. */
const KEPT_MS = 90 * 86_400_000;

const PAGE = 2_000;

const COLUMNS =
  'id, hash, name, projects, requests_per_minute, tokens_per_day, created_ms, expires_ms, revoked_ms, dollars_per_month';
/** Select list for queries of `access_key k`. */
const SELECTED = `${COLUMNS.replaceAll(/\w+/g, 'k.$&')},
  (SELECT u.at_ms FROM main.key_used u WHERE u.key = k.id) AS last_used_ms`;

const names = z.array(z.string()).min(1);

/** Maximum wait for other writers when a request is counted, in milliseconds. */
const COUNT_WAIT_MS = 1_000;
const UNREVOKED = 'WHERE id = ? AND revoked_ms IS NULL RETURNING id';
/** If this process's clock is behind, the later span of the other processes is used. */
const COUNT = `
  INSERT INTO main.key_count AS c (key, span, at, used, most) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (key, span) DO UPDATE SET
    used = CASE WHEN c.at < excluded.at THEN 0 ELSE c.used END + excluded.used,
    at = CASE WHEN c.at < excluded.at THEN excluded.at ELSE c.at END, most = excluded.most
  WHERE c.at < excluded.at OR c.used < excluded.most
  RETURNING span`;

const TOUCH = `
  INSERT INTO main.key_used AS u (key, at_ms) SELECT id, CAST(? AS bigint) FROM main.access_key WHERE id = ?
  ON CONFLICT (key) DO UPDATE SET at_ms = CASE WHEN u.at_ms < excluded.at_ms THEN excluded.at_ms ELSE u.at_ms END`;

/** `KeyStore` on the tables of either database. */
export class StoredKeys implements KeyStore {
  readonly #sql: Sql;
  readonly #onChanged: () => void;

  /** @param onChanged - called after changes by this object, because the store only reports changes by others */
  constructor(sql: Sql, onChanged = (): void => {}) {
    this.#sql = sql;
    this.#onChanged = onChanged;
  }

  async generation(): Promise<number> {
    const [row] = await this.#sql.all<{ value: number }>("SELECT value FROM main.meter WHERE name = 'key_generation'");
    return row?.value ?? 0;
  }

  async changed({ number, id }: KeyPlace, limit: number): Promise<readonly ChangedKey[]> {
    const rows = await this.#sql.all<KeyRow & { readonly number: number }>(
      `SELECT ${SELECTED}, c.number FROM main.key_change c JOIN main.access_key k ON k.id = c.key
       WHERE (c.number, c.key) > (?, ?) ORDER BY c.number, c.key LIMIT ?`,
      [number, id, limit],
    );
    return rows.map((row) => ({ ...keyOf(row), number: Number(row.number) }));
  }

  /** Read in pages, because one statement over all keys might exceed the statement time limit. */
  async all(): Promise<readonly AccessKey[]> {
    const all: AccessKey[] = [];
    for (;;) {
      const page = await this.list({ after: all.at(-1)?.id, limit: PAGE });
      all.push(...page);
      if (page.length < PAGE) return all;
    }
  }

  async list({ after, limit }: Parameters<KeyStore['list']>[0]): Promise<readonly AccessKey[]> {
    const rows = await this.#sql.all<KeyRow>(
      `SELECT ${SELECTED} FROM main.access_key k WHERE CAST(? AS text) IS NULL
         OR (k.created_ms, k.id) > (SELECT a.created_ms, a.id FROM main.access_key a WHERE a.id = ?)
       ORDER BY k.created_ms, k.id LIMIT ?`,
      [after ?? null, after ?? null, limit],
    );
    return rows.map(keyOf);
  }

  counted(): Promise<readonly CountedSpan[]> {
    return this.#sql.all('SELECT key AS "keyId", span, at, used FROM main.key_count');
  }

  async create(keys: readonly AccessKey[]): Promise<boolean> {
    const isCreated = await this.#sql.write(function* (): Steps<boolean> {
      const forgetMs = (yield* turn('keys')) - KEPT_MS;
      yield* change('DELETE FROM main.access_key WHERE revoked_ms < ? OR expires_ms < ?', [forgetMs, forgetMs]);
      const stored = yield* number('SELECT count(*) AS value FROM main.access_key');
      if (stored + keys.length > MAX_KEYS) return false;
      yield* each(
        `INSERT INTO main.access_key (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        keys.map(keyValues),
      );
      return true;
    });
    this.#onChanged();
    return isCreated;
  }

  async change(id: string, changed: KeyChange): Promise<AccessKey | null> {
    const columns = changedColumns(changed);
    if (columns.length > 0) {
      const set = columns.map(([column]) => `${column} = ?`).join(', ');
      await this.#sql.once(`UPDATE main.access_key SET ${set} ${UNREVOKED}`, [
        [...columns.map(([, value]) => value), id],
      ]);
      this.#onChanged();
    }
    const [row] = await this.#sql.all<KeyRow>(`SELECT ${SELECTED} FROM main.access_key k WHERE k.id = ?`, [id]);
    return row && row.revoked_ms === null ? keyOf(row) : null;
  }

  async touch(used: ReadonlyMap<string, number>): Promise<void> {
    await this.#sql.write(function* (): Steps<void> {
      yield* turn('keys');
      for (const [id, atMs] of used) yield* change(TOUCH, [Math.trunc(atMs), id]);
    });
  }

  async revoke(id: string, atMs: number): Promise<boolean> {
    const revoke = `UPDATE main.access_key SET revoked_ms = ? ${UNREVOKED}`;
    const revoked = await this.#sql.once(revoke, [[Math.trunc(atMs), id]]);
    this.#onChanged();
    return revoked.length > 0;
  }

  async rotate(id: string, hash: string): Promise<boolean> {
    const rotate = `UPDATE main.access_key SET hash = ? ${UNREVOKED}`;
    const rotated = await this.#sql.once(rotate, [[hash, id]]);
    this.#onChanged();
    return rotated.length > 0;
  }

  async count(id: string, increments: readonly CounterIncrement[]): Promise<ReadonlySet<LimitedSpan>> {
    // sorted by key, so that two processes never deadlock
    const rows = increments.map(({ span, at, add, limit }) => [id, span, at, add, limit]).sort(bySpan);
    const counted = await this.#sql.once<{ span: LimitedSpan }>(COUNT, rows, COUNT_WAIT_MS);
    return new Set(counted.map(({ span }) => span));
  }

  async correct(id: string, { span, at, add }: Pick<CounterIncrement, 'span' | 'at' | 'add'>): Promise<void> {
    const correct = `UPDATE main.key_count SET used = CASE WHEN used + ? < 0 THEN 0 ELSE used + ? END
      WHERE key = ? AND span = ? AND at = ?`;
    await this.#sql.once(correct, [[add, add, id, span, at]]);
  }
}

function bySpan([, a]: readonly unknown[], [, b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1;
}

/** @throws StoreUnavailable `corrupt` if the row's list of projects is empty or cannot be read */
function keyOf(row: KeyRow): AccessKey {
  return {
    id: row.id,
    hash: row.hash,
    name: row.name,
    projects: projectsOf(row.projects),
    requestsPerMinute: row.requests_per_minute,
    tokensPerDay: row.tokens_per_day,
    dollarsPerMonth: row.dollars_per_month,
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
    revokedMs: row.revoked_ms,
    lastUsedMs: row.last_used_ms,
  };
}

/** Values for `COLUMNS`. */
function keyValues(key: AccessKey): (string | number | null)[] {
  const { id, hash, name, projects, requestsPerMinute, tokensPerDay, createdMs, expiresMs, revokedMs } = key;
  const limits = [requestsPerMinute, tokensPerDay];
  return [id, hash, name, JSON.stringify(projects), ...limits, createdMs, expiresMs, revokedMs, key.dollarsPerMonth];
}

function projectsOf(text: string): readonly string[] {
  try {
    return names.parse(JSON.parse(text));
  } catch (cause) {
    throw new StoreUnavailable('corrupt', { cause });
  }
}

/** Changed columns with their new values. */
function changedColumns(change: KeyChange): (readonly [column: string, value: string | number | null])[] {
  const { projects, ...plain } = change;
  const changed: (readonly [string, string | number | null])[] = projects
    ? [['projects', JSON.stringify(projects)]]
    : [];
  for (const [field, column] of CHANGEABLE) {
    const value = plain[field];
    if (value !== undefined) changed.push([column, value]);
  }
  return changed;
}

const CHANGEABLE = [
  ['name', 'name'],
  ['requestsPerMinute', 'requests_per_minute'],
  ['tokensPerDay', 'tokens_per_day'],
  ['dollarsPerMonth', 'dollars_per_month'],
  ['expiresMs', 'expires_ms'],
] as const;
