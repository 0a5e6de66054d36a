import { z } from 'zod';
import type { AccessKey, KeyChange } from '../core/ports/keys.ts';
import { StoreUnavailable } from '../errors.ts';

/** A row of `access_key`, identical in every store. */
export interface KeyRow {
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

/** Most keys in a store, including revoked ones, which are deleted after `KEPT_MS`. */
export const MAX_KEYS = 100_000;
/** How long a revoked or expired key is still listed, in milliseconds. */
export const KEPT_MS = 90 * 86_400_000;

export const KEY_COLUMNS =
  'id, hash, name, projects, requests_per_minute, tokens_per_day, created_ms, expires_ms, revoked_ms, dollars_per_month';
/** The select list of a query of `access_key k`, in Common SQL. */
const SELECTED_KEY = `${KEY_COLUMNS.replaceAll(/\w+/g, 'k.$&')},
  (SELECT u.at_ms FROM main.key_used u WHERE u.key = k.id) AS last_used_ms`;

const names = z.array(z.string()).min(1);

/** @throws StoreUnavailable `corrupt` for a row that opens no project */
export function keyOf(row: KeyRow): AccessKey {
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

/** The values of `KEY_COLUMNS`. */
export function keyValues(key: AccessKey): (string | number | null)[] {
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

/** The columns of a change with their values. */
export function changedColumns(change: KeyChange): (readonly [column: string, value: string | number | null])[] {
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

/** The queries of keys, identical in every store. */
export const KEY_LISTS = {
  all: `SELECT ${SELECTED_KEY} FROM main.access_key k ORDER BY k.created_ms, k.id`,
  one: `SELECT ${SELECTED_KEY} FROM main.access_key k WHERE k.id = ?`,
  /** `after` twice, then the limit. */
  page: `SELECT ${SELECTED_KEY} FROM main.access_key k
    WHERE CAST(? AS text) IS NULL OR (k.created_ms, k.id) > (SELECT a.created_ms, a.id FROM main.access_key a WHERE a.id = ?)
    ORDER BY k.created_ms, k.id LIMIT ?`,
  counted: 'SELECT key AS "keyId", span, at, used FROM main.key_count',
} as const;
