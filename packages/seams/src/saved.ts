import type { CompactionsReport, Payback } from 'mcp-pruner/core/ports/seams-report.ts';
import { ENDED_MS } from 'mcp-pruner/money/finished-work.ts';
import type { Prices } from 'mcp-pruner/money/prices.ts';
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
  /** Time of the conversation's newest request; `null` without one since. */
  readonly lastMs: number | null;
  readonly readAgain: number;
}

const MAX_ROWS = 10_000;

/**
 * What compactions of a period cost and saved, as an estimate: the tokens they replaced, at the cached price, times the
 * requests since, less their own price and the files that were read again. It may be negative.
 *
 * @throws StoreUnavailable
 */
export async function readCompactions(
  sql: Pick<Rows, 'all'>,
  prices: Pick<Prices, 'of'>,
  { sinceMs, nowMs, project }: SeamsQuery,
): Promise<{ readonly compactions: CompactionsReport; readonly payback: Omit<Payback, 'by_client'> }> {
  const rows = await sql.all<Row>(ROWS, [Math.trunc(sinceMs), project ?? null]);
  const sums = { ...NO_COMPACTIONS.compactions };
  const after: number[] = [];
  let never = 0;
  for (const row of rows) {
    const { state, model, weight, leftOver, usedMs } = row;
    const [dollars, requests] = [Number(row.dollars), Number(row.requests)];
    if (state === 'failed' || state === 'refused') sums[state]++;
    else if (state !== 'asked') sums.made++;
    sums.usd_spent += dollars;
    sums.usd_saved -= dollars;
    if (state !== 'used' && state !== 'kept') continue;
    const replaced = Math.max(0, Number(weight) - Number(leftOver));
    const price = prices.of(model, Number(usedMs));
    const read = price?.read ?? 0;
    // what was read again was written to the cache once more, and is repeated as before
    const again = Math.min(replaced, Number(row.readAgain));
    const anew = (again * Math.max(price?.input ?? 0, price?.write5m ?? 0)) / MILLION;
    const perRequest = ((replaced - again) * read) / MILLION;
    const saved = perRequest * requests - anew;
    sums.tokens_replaced += replaced;
    sums.usd_saved += saved;
    if (saved > dollars) {
      sums.paid_back++;
      after.push(Math.max(1, Math.ceil((dollars + anew) / perRequest)));
    } else if (nowMs - Number(row.lastMs ?? usedMs) >= ENDED_MS) never++;
  }
  const median = after.sort((a, b) => a - b)[after.length >> 1] ?? null;
  return { compactions: sums, payback: { after_requests: median, never } };
}

/** The figures without any compaction. */
export const NO_COMPACTIONS = {
  compactions: { made: 0, failed: 0, refused: 0, tokens_replaced: 0, usd_spent: 0, usd_saved: 0, paid_back: 0 },
  payback: { after_requests: null, never: 0 },
};

const MILLION = 1_000_000;

/** Requests count until the next block of the same conversation. */
const ROWS = `SELECT c.state, c.model, c.weight, c.left_over AS "leftOver", c.dollars, c.used_ms AS "usedMs",
    c.read_again AS "readAgain",
    (SELECT max(t.at_ms) FROM main.ledger_turn t WHERE t.conversation = c.shown AND t.project = c.project) AS "lastMs",
    CASE WHEN c.used_ms = 0 THEN 0 ELSE (SELECT count(*) FROM main.ledger_turn t
      WHERE t.conversation = c.shown AND t.project = c.project AND t.model = c.model AND t.at_ms >= c.used_ms
        AND NOT EXISTS (SELECT 1 FROM main.seam_compaction n WHERE n.project = c.project AND n.conversation = c.conversation
          AND n.id > c.id AND n.used_ms > 0 AND n.used_ms <= t.at_ms)) END AS requests
  FROM main.seam_compaction c WHERE c.asked_ms >= ? AND c.project = coalesce(?, c.project) ORDER BY c.id DESC LIMIT ${MAX_ROWS}`;
