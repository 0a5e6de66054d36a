import type { UsageRecord, UsageTotal } from '../../core/ports.ts';
import type { Statements } from './statements.ts';

interface UsageRow {
  readonly day: string;
  readonly model: string;
  readonly tool: string;
  readonly requests: number;
  readonly candidates: number;
  readonly pruned: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
}

/** Model and tool come from clients: past so many combinations a day, further ones are counted under `(other)`. */
const MAX_ROWS_PER_DAY = 2_000;
const MAX_NAME_CHARS = 200;

/** Totals by day (UTC), model and tool. */
export class Usage {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Inside the caller's transaction. */
  add(record: UsageRecord): void {
    const day = new Date(record.atMs).toISOString().slice(0, 10);
    const model = record.model.slice(0, MAX_NAME_CHARS);
    const tool = record.tool.slice(0, MAX_NAME_CHARS);
    if (this.#count(record, day, model, tool)) return;
    const full = (this.#sql.value('SELECT count(*) FROM usage WHERE day = ?', day) ?? 0) >= MAX_ROWS_PER_DAY;
    if (full && this.#count(record, day, '(other)', '(other)')) return;
    const [rowModel, rowTool] = full ? ['(other)', '(other)'] : [model, tool];
    this.#sql.run('INSERT INTO usage VALUES (?, ?, ?, 0, 0, 0, 0, 0)', day, rowModel, rowTool);
    this.#count(record, day, rowModel, rowTool);
  }

  #count(record: UsageRecord, day: string, model: string, tool: string): boolean {
    const { requests, candidates, pruned } = record;
    const [before, after] = [Math.round(record.tokensBefore), Math.round(record.tokensAfter)]; // estimates
    const changed = this.#sql.run(
      `UPDATE usage SET requests = requests + ?, candidates = candidates + ?, pruned = pruned + ?,
       tokens_before = tokens_before + ?, tokens_after = tokens_after + ? WHERE day = ? AND model = ? AND tool = ?`,
      ...[requests, candidates, pruned, before, after, day, model, tool],
    );
    return changed > 0;
  }

  /** Newest day first, then by model and tool. */
  since(day: string): UsageTotal[] {
    const rows = this.#sql.all<UsageRow>('SELECT * FROM usage WHERE day >= ? ORDER BY day DESC, model, tool', day);
    return rows.map((row) => ({
      day: row.day,
      model: row.model,
      tool: row.tool,
      requests: row.requests,
      candidates: row.candidates,
      pruned: row.pruned,
      tokensBefore: row.tokens_before,
      tokensAfter: row.tokens_after,
    }));
  }
}
