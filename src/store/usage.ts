import type { UsageRecord, UsageTotal } from '../core/ports.ts';
import { groupBy } from '../engine/group-by.ts';
import type { Rows } from './sql/rows.ts';
import { all, each, type Steps, turn } from './sql/steps.ts';

/** Model and tool come from clients: beyond this many combinations a day, further ones are counted under `OTHER`. */
const MAX_ROWS_PER_DAY = 2_000;
const OTHER = '(other)';
const MAX_NAME_CHARS = 200;

const ADD = `
  INSERT INTO main.usage AS u (day, model, tool, requests, candidates, pruned, tokens_before, tokens_after)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, model, tool) DO UPDATE SET requests = u.requests + excluded.requests,
    candidates = u.candidates + excluded.candidates, pruned = u.pruned + excluded.pruned,
    tokens_before = u.tokens_before + excluded.tokens_before, tokens_after = u.tokens_after + excluded.tokens_after`;

/** Adds to the totals by day (UTC), model and tool. */
export function* addUsage(records: readonly UsageRecord[]): Steps<void> {
  yield* turn('usage');
  for (const [day, added] of groupBy(sumsOf(records.map(totalOf)), (total) => total.day)) {
    const rows = yield* all<{ model: string; tool: string }>('SELECT model, tool FROM main.usage WHERE day = ?', [day]);
    const there = new Set(rows.map(nameOf));
    const placed = added.map((total) => {
      if (!there.has(nameOf(total)) && there.size >= MAX_ROWS_PER_DAY) return { ...total, model: OTHER, tool: OTHER };
      there.add(nameOf(total));
      return total;
    });
    yield* each(ADD, sumsOf(placed).map(valuesOf));
  }
}

/** One total for each day, model and tool. */
function sumsOf(totals: readonly UsageTotal[]): UsageTotal[] {
  const sums = new Map<string, { -readonly [Field in keyof UsageTotal]: UsageTotal[Field] }>();
  for (const one of totals) {
    const name = one.day + nameOf(one);
    const sum = sums.get(name);
    if (!sum) {
      sums.set(name, { ...one });
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

function nameOf({ model, tool }: Pick<UsageTotal, 'model' | 'tool'>): string {
  return `${model}\0${tool}`;
}

function valuesOf({ day, model, tool, requests, candidates, pruned, tokensBefore, tokensAfter }: UsageTotal) {
  return [day, model, tool, requests, candidates, pruned, tokensBefore, tokensAfter];
}

/** A record as an addition to its day (UTC), with stored names. */
function totalOf({ atMs, ...record }: UsageRecord): UsageTotal {
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
