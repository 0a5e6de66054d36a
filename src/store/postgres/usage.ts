import type { UsageRecord, UsageTotal } from '../../core/ports.ts';
import type { Queryable } from './database.ts';
import { fromPg, toPg } from './text.ts';

/** Model and tool come from clients: past so many combinations a day, further ones are counted under `(other)`. */
const MAX_ROWS_PER_DAY = 2_000;
const MAX_NAME_CHARS = 200;
const OTHER = '(other)';

type Totals = { -readonly [Field in keyof UsageTotal]: UsageTotal[Field] };

/** Adds up by day (UTC), model and tool, inside the caller's transaction, which is let through one at a time. */
export async function addUsage(client: Queryable, records: readonly UsageRecord[]): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.usage'))");
  const added = addedUp(records);
  for (const day of new Set(added.map((one) => one.day))) {
    const ofDay = added.filter((one) => one.day === day);
    const rows = await client.query<{ model: string; tool: string }>(
      'SELECT model, tool FROM mcp_pruner.usage WHERE day = $1',
      [day],
    );
    const there = new Set(rows.map(({ model, tool }) => `${fromPg(model)}\0${fromPg(tool)}`));
    const named = ofDay.map((one) => {
      const name = `${one.model}\0${one.tool}`;
      if (there.has(name)) return one;
      if (there.size >= MAX_ROWS_PER_DAY) return { ...one, model: OTHER, tool: OTHER };
      there.add(name);
      return one;
    });
    await insert(client, sumsOf(named));
  }
}

/** Newest day first, then by model and tool. */
export async function usageSince(client: Queryable, day: string): Promise<UsageTotal[]> {
  const rows = await client.query<Record<string, number> & { day: string; model: string; tool: string }>(
    `SELECT day, model, tool, requests, candidates, pruned, tokens_before, tokens_after FROM mcp_pruner.usage
     WHERE day >= $1 ORDER BY day DESC, model, tool`,
    [day],
  );
  return rows.map((row) => ({
    day: row.day,
    model: fromPg(row.model),
    tool: fromPg(row.tool),
    requests: Number(row.requests),
    candidates: Number(row.candidates),
    pruned: Number(row.pruned),
    tokensBefore: Number(row.tokens_before),
    tokensAfter: Number(row.tokens_after),
  }));
}

function addedUp(records: readonly UsageRecord[]): Totals[] {
  return sumsOf(
    records.map(({ atMs, ...record }) => ({
      ...record,
      day: new Date(atMs).toISOString().slice(0, 10),
      model: record.model.slice(0, MAX_NAME_CHARS),
      tool: record.tool.slice(0, MAX_NAME_CHARS),
      tokensBefore: Math.round(record.tokensBefore), // estimates
      tokensAfter: Math.round(record.tokensAfter),
    })),
  );
}

function sumsOf(all: readonly UsageTotal[]): Totals[] {
  const sums = new Map<string, Totals>();
  for (const one of all) {
    const key = `${one.day}\0${one.model}\0${one.tool}`;
    const sum = sums.get(key);
    if (!sum) {
      sums.set(key, { ...one });
      continue;
    }
    sum.requests += one.requests;
    sum.candidates += one.candidates;
    sum.pruned += one.pruned;
    sum.tokensBefore += one.tokensBefore;
    sum.tokensAfter += one.tokensAfter;
  }
  return [...sums.values()];
}

async function insert(client: Queryable, totals: readonly UsageTotal[]): Promise<void> {
  await client.query(
    `INSERT INTO mcp_pruner.usage AS u
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
     ON CONFLICT (day, model, tool) DO UPDATE SET requests = u.requests + excluded.requests,
       candidates = u.candidates + excluded.candidates, pruned = u.pruned + excluded.pruned,
       tokens_before = u.tokens_before + excluded.tokens_before, tokens_after = u.tokens_after + excluded.tokens_after`,
    [
      totals.map(({ day }) => day),
      totals.map(({ model }) => toPg(model)),
      totals.map(({ tool }) => toPg(tool)),
      totals.map(({ requests }) => requests),
      totals.map(({ candidates }) => candidates),
      totals.map(({ pruned }) => pruned),
      totals.map(({ tokensBefore }) => tokensBefore),
      totals.map(({ tokensAfter }) => tokensAfter),
    ],
  );
}
