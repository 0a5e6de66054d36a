import type { UsageRecord, UsageTotal } from '../../core/ports.ts';
import { MAX_USAGE_ROWS_PER_DAY, OTHER, totalOf } from '../usage-rows.ts';
import type { Statements } from './statements.ts';

/** Adds to the totals by day (UTC), model and tool, inside the caller's transaction. */
export function addUsage(sql: Statements, records: readonly UsageRecord[]): void {
  for (const total of records.map(totalOf)) {
    if (count(sql, total)) continue;
    const isFull = (sql.value('SELECT count(*) FROM usage WHERE day = ?', [total.day]) ?? 0) >= MAX_USAGE_ROWS_PER_DAY;
    const named = isFull ? { ...total, model: OTHER, tool: OTHER } : total;
    if (isFull && count(sql, named)) continue;
    sql.run('INSERT INTO usage VALUES (?, ?, ?, 0, 0, 0, 0, 0)', [named.day, named.model, named.tool]);
    count(sql, named);
  }
}

/** Adds to an existing total; `false` if there is none. */
function count(sql: Statements, total: UsageTotal): boolean {
  const changed = sql.run(
    `UPDATE usage SET requests = requests + @requests, candidates = candidates + @candidates, pruned = pruned + @pruned,
       tokens_before = tokens_before + @tokensBefore, tokens_after = tokens_after + @tokensAfter
     WHERE day = @day AND model = @model AND tool = @tool`,
    [total],
  );
  return changed > 0;
}
