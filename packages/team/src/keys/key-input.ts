import type { AccessKey, KeyChange } from 'mcp-pruner/core/ports/keys.ts';
import { z } from 'zod';
import { ALL_PROJECTS } from './key-text.ts';

const MAX_NAME_CHARS = 100;
const MAX_PROJECT_CHARS = 200;
const MAX_PROJECTS = 50;
const MAX_EXPIRES_S = 3_650 * 86_400;
const UNITS_S: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

function plain(most: number) {
  return z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((text) => !/\p{Cc}/u.test(text) && text.isWellFormed(), 'control characters are not allowed');
}

const limit = z.int().min(1).nullable();

/** Schema of a new key, shared by the command line and the admin API. */
export const keyInput = z.strictObject({
  name: plain(MAX_NAME_CHARS).describe('What it is called in lists and events.'),
  projects: z
    .array(plain(MAX_PROJECT_CHARS))
    .min(1)
    .max(MAX_PROJECTS)
    .refine((all) => !all.includes(ALL_PROJECTS) || all.length === 1, "'*' opens all projects: leave the others out")
    .describe("The projects it opens; '*' alone opens all."),
  requests_per_minute: limit.optional().describe('Maximum number of requests to models per minute; null: no limit.'),
  tokens_per_day: limit.optional().describe('Maximum number of tokens per day (UTC), in and out; null: no limit.'),
  dollars_per_month: z.number().positive().nullable().optional().describe('Budget per month (UTC); null: none.'),
  expires_in_s: z.int().min(1).max(MAX_EXPIRES_S).nullable().optional().describe('Lifetime in seconds; null: no end.'),
});
export type KeyInput = z.infer<typeof keyInput>;

/** Schema of a change: absent fields stay unchanged. */
export const keyChange = keyInput.partial();

export const shownKey = z.object({
  id: z.string(),
  name: z.string(),
  projects: z.array(z.string()),
  requests_per_minute: limit,
  tokens_per_day: limit,
  dollars_per_month: z.number().nullable(),
  created_ms: z.int(),
  expires_ms: z.int().nullable(),
  revoked_ms: z.int().nullable(),
  last_used_ms: z.int().nullable().describe('Up to a minute out of date; null: never used.'),
  state: z.enum(['open', 'expired', 'revoked']),
});
export type ShownKey = z.infer<typeof shownKey>;

/** A key with its secret, which is shown only once. */
export const issuedKey = shownKey.extend({
  key: z.string().describe('Shown only once; the store keeps only its hash.'),
});
export type IssuedKey = z.infer<typeof issuedKey>;

/** Stored fields of a key that an input sets. */
export function changeOf(input: Partial<KeyInput>, nowMs: number): KeyChange {
  const { name, projects, expires_in_s: expiresInS } = input;
  const { requests_per_minute, tokens_per_day, dollars_per_month } = input;
  return {
    ...(name !== undefined && { name }),
    ...(projects !== undefined && { projects: [...new Set(projects)] }),
    ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_day !== undefined && { tokensPerDay: tokens_per_day }),
    ...(dollars_per_month !== undefined && { dollarsPerMonth: dollars_per_month }),
    ...(expiresInS !== undefined && { expiresMs: expiresInS === null ? null : Math.trunc(nowMs + expiresInS * 1000) }),
  };
}

export function shown(key: AccessKey, nowMs: number): ShownKey {
  return {
    id: key.id,
    name: key.name,
    projects: [...key.projects],
    requests_per_minute: key.requestsPerMinute,
    tokens_per_day: key.tokensPerDay,
    dollars_per_month: key.dollarsPerMonth,
    created_ms: key.createdMs,
    expires_ms: key.expiresMs,
    revoked_ms: key.revokedMs,
    last_used_ms: key.lastUsedMs,
    state: stateOf(key, nowMs),
  };
}

function stateOf({ revokedMs, expiresMs }: AccessKey, nowMs: number): ShownKey['state'] {
  if (revokedMs !== null) return 'revoked';
  return expiresMs !== null && expiresMs <= nowMs ? 'expired' : 'open';
}

/** Parses a duration such as `90d`, `12h` or `30m` to seconds; `null` if invalid. */
export function secondsOf(text: string): number | null {
  const [, count = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  const seconds = Number(count) * (UNITS_S[unit] ?? Number.NaN);
  return seconds > 0 && seconds <= MAX_EXPIRES_S ? seconds : null;
}
