import { z } from 'zod';
import type { AccessKey } from '../core/ports/keys.ts';
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
}

/** Most keys in a store, including revoked ones, which are deleted after `KEPT_MS`. */
export const MAX_KEYS = 10_000;
/** How long a revoked or expired key is still listed, in milliseconds. */
export const KEPT_MS = 90 * 86_400_000;

export const KEY_COLUMNS =
  'id, hash, name, projects, requests_per_minute, tokens_per_day, created_ms, expires_ms, revoked_ms';

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
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
    revokedMs: row.revoked_ms,
  };
}

/** The values of `KEY_COLUMNS`. */
export function keyValues(key: AccessKey): (string | number | null)[] {
  const { id, hash, name, projects, requestsPerMinute, tokensPerDay, createdMs, expiresMs, revokedMs } = key;
  const limits = [requestsPerMinute, tokensPerDay];
  return [id, hash, name, JSON.stringify(projects), ...limits, createdMs, expiresMs, revokedMs];
}

function projectsOf(text: string): readonly string[] {
  try {
    return names.parse(JSON.parse(text));
  } catch (cause) {
    throw new StoreUnavailable('corrupt', { cause });
  }
}
