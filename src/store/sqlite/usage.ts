import type { Database } from 'better-sqlite3';
import type { UsageRecord, UsageTotal } from '../../core/ports.ts';

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
  readonly #add;
  readonly #insert;
  readonly #rowsOf;
  readonly #since;

  constructor(db: Database) {
    this.#add = db.prepare<[number, number, number, number, number, string, string, string]>(
      `UPDATE usage SET requests = requests + ?, candidates = candidates + ?, pruned = pruned + ?,
       tokens_before = tokens_before + ?, tokens_after = tokens_after + ? WHERE day = ? AND model = ? AND tool = ?`,
    );
    this.#insert = db.prepare<[string, string, string]>('INSERT INTO usage VALUES (?, ?, ?, 0, 0, 0, 0, 0)');
    this.#rowsOf = db.prepare<[string], number>('SELECT count(*) FROM usage WHERE day = ?').pluck();
    this.#since = db.prepare<[string], UsageRow>('SELECT * FROM usage WHERE day >= ? ORDER BY day DESC, model, tool');
  }

  /** Inside the caller's transaction. */
  add(record: UsageRecord): void {
    const day = new Date(record.atMs).toISOString().slice(0, 10);
    const model = record.model.slice(0, MAX_NAME_CHARS);
    const tool = record.tool.slice(0, MAX_NAME_CHARS);
    if (this.#count(record, day, model, tool)) return;
    const full = (this.#rowsOf.get(day) ?? 0) >= MAX_ROWS_PER_DAY;
    if (full && this.#count(record, day, '(other)', '(other)')) return;
    const [rowModel, rowTool] = full ? ['(other)', '(other)'] : [model, tool];
    this.#insert.run(day, rowModel, rowTool);
    this.#count(record, day, rowModel, rowTool);
  }

  #count(record: UsageRecord, day: string, model: string, tool: string): boolean {
    const { requests, candidates, pruned } = record;
    const [before, after] = [Math.round(record.tokensBefore), Math.round(record.tokensAfter)]; // estimates
    return this.#add.run(requests, candidates, pruned, before, after, day, model, tool).changes > 0;
  }

  /** Newest day first, then by model and tool. */
  since(day: string): UsageTotal[] {
    return this.#since.all(day).map((row) => ({
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
