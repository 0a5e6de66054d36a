import type { UsageRecord, UsageTotal } from '../../core/ports.ts';
import { MAX_USAGE_ROWS_PER_DAY, OTHER, totalOf } from '../usage-rows.ts';
import type { Queryable } from './database.ts';
import { columnsOf } from './database-sql.ts';
import { fromPg } from './text.ts';

type Totals = { -readonly [Field in keyof UsageTotal]: UsageTotal[Field] };

/** Adds to the totals by day (UTC), model and tool, inside the caller's transaction. Callers are serialised. */
export async function addUsage(client: Queryable, records: readonly UsageRecord[]): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.usage'))");
  const added = sumsOf(records.map(totalOf));
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
      if (there.size >= MAX_USAGE_ROWS_PER_DAY) return { ...one, model: OTHER, tool: OTHER };
      there.add(name);
      return one;
    });
    await insert(client, sumsOf(named));
  }
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
    columnsOf(
      totals.map(({ day, model, tool, requests, candidates, pruned, tokensBefore, tokensAfter }) => [
        ...[day, model, tool, requests, candidates, pruned, tokensBefore, tokensAfter],
      ]),
      8,
    ),
  );
}
