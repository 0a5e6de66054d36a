import type { UsageRecord, UsageTotal } from '../core/ports.ts';
import type { Rows } from './sql/rows.ts';

/** Model and tool come from clients: beyond this many combinations a day, further ones are counted under `OTHER`. */
export const MAX_USAGE_ROWS_PER_DAY = 2_000;
export const OTHER = '(other)';
const MAX_NAME_CHARS = 200;

/** A record as an addition to its day (UTC), with stored names. */
export function totalOf({ atMs, ...record }: UsageRecord): UsageTotal {
  return {
    ...record,
    day: new Date(atMs).toISOString().slice(0, 10),
    model: record.model.slice(0, MAX_NAME_CHARS),
    tool: record.tool.slice(0, MAX_NAME_CHARS),
    tokensBefore: Math.round(record.tokensBefore), // estimates are rounded
    tokensAfter: Math.round(record.tokensAfter),
  };
}

/** Newest day first, then by model and tool. */
export function usageSince(rows: Rows, day: string): Promise<UsageTotal[]> {
  return rows.all(
    `SELECT day, model, tool, requests, candidates, pruned, tokens_before AS "tokensBefore", tokens_after AS "tokensAfter"
     FROM main.usage WHERE day >= ? ORDER BY day DESC, model, tool`,
    [day],
  );
}
