import type { CompactionsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import type { Prices } from 'mcp-pruner/ledger/prices.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import type { SeamsQuery } from './finished.ts';

/** A compaction, and the requests that its conversation had with its block. */
interface Row {
  readonly state: string;
  readonly model: string;
  readonly weight: number;
  readonly leftOver: number;
  readonly dollars: number;
  readonly usedMs: number;
  readonly requests: number;
}

const MAX_ROWS = 10_000;

/**
 * What compactions of a period cost and saved, as an estimate: the tokens they replaced, at the cached price, times the
 * requests since, less their own price. It may be negative.
 *
 * @throws StoreUnavailable
 */
export async function readCompactions(
  sql: Pick<Rows, 'all'>,
  prices: Pick<Prices, 'of'>,
  { sinceMs, project }: SeamsQuery,
): Promise<CompactionsReport> {
  const rows = await sql.all<Row>(ROWS, [Math.trunc(sinceMs), project ?? null]);
  const sums = { made: 0, failed: 0, refused: 0, tokens_replaced: 0, usd_spent: 0, usd_saved: 0, paid_back: 0 };
  for (const row of rows) {
    const { state, model, weight, leftOver, usedMs } = row;
    const [dollars, requests] = [Number(row.dollars), Number(row.requests)];
    if (state === 'failed' || state === 'refused') sums[state]++;
    else if (state !== 'asked') sums.made++;
    sums.usd_spent += dollars;
    sums.usd_saved -= dollars;
    if (state !== 'used' && state !== 'kept') continue;
    const replaced = Math.max(0, Number(weight) - Number(leftOver));
    const read = prices.of(model, Number(usedMs))?.read ?? 0;
    const saved = (replaced * read * requests) / 1_000_000;
    sums.tokens_replaced += replaced;
    sums.usd_saved += saved;
    if (saved > dollars) sums.paid_back++;
  }
  return sums;
}

/** Requests count until the next block of the same conversation. */
const ROWS = `SELECT c.state, c.model, c.weight, c.left_over AS "leftOver", c.dollars, c.used_ms AS "usedMs",
    CASE WHEN c.used_ms = 0 THEN 0 ELSE (SELECT count(*) FROM main.ledger_turn t
      WHERE t.conversation = c.shown AND t.project = c.project AND t.model = c.model AND t.at_ms >= c.used_ms
        AND NOT EXISTS (SELECT 1 FROM main.seam_compaction n WHERE n.project = c.project AND n.conversation = c.conversation
          AND n.id > c.id AND n.used_ms > 0 AND n.used_ms <= t.at_ms)) END AS requests
  FROM main.seam_compaction c WHERE c.asked_ms >= ? AND c.project = coalesce(?, c.project) ORDER BY c.id DESC LIMIT ${MAX_ROWS}`;
