import { ENDED_MS } from '@mcp-pruner/money/finished-work.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import type { CompactionsReport, Payback, SeamsArm, SeamsHoldout } from 'mcp-pruner/core/ports/seams-report.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import type { ShownState } from './book.ts';
import { type SeamsQuery, scopeOf } from './finished.ts';

/** A compaction, and the requests that its conversation had with its block. */
interface Row {
  readonly atMs: number;
  readonly state: ShownState;
  readonly cause: string;
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

/** What a compaction cost and saved, as an estimate. */
interface Figures extends Pick<Row, 'atMs' | 'state' | 'cause' | 'weight' | 'dollars'> {
  /** Tokens that its block replaces; 0 if it was never sent. */
  readonly replaced: number;
  /** Dollars without its own price; negative if files that were read again cost more. */
  readonly saved: number;
  /** After how many requests it had saved its price; `null` if it has not yet. */
  readonly after: number | null;
  /** It was sent, and its conversation has ended. */
  readonly isOver: boolean;
}

const MAX_ROWS = 10_000;

/** What compactions of a period cost and saved. @throws StoreUnavailable */
export async function readCompactions(
  sql: Pick<Rows, 'all'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<{ readonly compactions: CompactionsReport; readonly payback: Omit<Payback, 'by_client'> }> {
  const sums = { ...NO_COMPACTIONS.compactions };
  const after: number[] = [];
  let never = 0;
  for (const one of await readFigures(sql, prices, query)) {
    if (one.state === 'failed' || one.state === 'refused') sums[one.state]++;
    else if (one.state !== 'asked') sums.made++;
    sums.usd_spent += one.dollars;
    sums.usd_saved += one.saved - one.dollars;
    sums.tokens_replaced += one.replaced;
    if (one.after !== null) after.push(one.after);
    else if (one.isOver) never++;
  }
  sums.paid_back = after.length;
  const median = after.sort((a, b) => a - b)[after.length >> 1] ?? null;
  return { compactions: sums, payback: { after_requests: median, never } };
}

/**
 * Each compaction, newest first: the tokens that it replaced, at the cached price, times the requests since, less the
 * files that were read again.
 *
 * @throws StoreUnavailable
 */
export async function readFigures(
  sql: Pick<Rows, 'all'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<readonly Figures[]> {
  const { sinceMs, nowMs, conversation } = query;
  const rows = await sql.all<Row>(ROWS, [Math.trunc(sinceMs), ...scopeOf(query), conversation ?? null]);
  return rows.map((row) => {
    const { state, cause, model, leftOver, usedMs } = row;
    const [atMs, weight] = [Number(row.atMs), Number(row.weight)];
    const [dollars, requests] = [Number(row.dollars), Number(row.requests)];
    const about = { atMs, state, cause, weight, dollars };
    if (state !== 'used' && state !== 'kept') return { ...about, replaced: 0, saved: 0, after: null, isOver: false };
    const replaced = Math.max(0, weight - Number(leftOver));
    const price = prices.of(model, Number(usedMs));
    // what was read again was written to the cache once more, and is repeated as before
    const again = Math.min(replaced, Number(row.readAgain));
    const anew = (again * Math.max(price?.input ?? 0, price?.write5m ?? 0)) / MILLION;
    const perRequest = ((replaced - again) * (price?.read ?? 0)) / MILLION;
    const saved = perRequest * requests - anew;
    const after = saved > dollars ? Math.max(1, Math.ceil((dollars + anew) / perRequest)) : null;
    return { ...about, replaced, saved, after, isOver: nowMs - Number(row.lastMs ?? usedMs) >= ENDED_MS };
  });
}

/** The figures without any compaction. */
export const NO_COMPACTIONS = {
  compactions: { made: 0, failed: 0, refused: 0, tokens_replaced: 0, usd_spent: 0, usd_saved: 0, paid_back: 0 },
  payback: { after_requests: null, never: 0 },
};

const MILLION = 1_000_000;

/** Requests count until the next block of the same conversation. */
const ROWS = `SELECT c.asked_ms AS "atMs", c.state, c.cause, c.model, c.weight, c.left_over AS "leftOver", c.dollars, c.used_ms AS "usedMs",
    c.read_again AS "readAgain",
    (SELECT max(t.at_ms) FROM main.ledger_turn t WHERE t.conversation = c.shown AND t.project = c.project) AS "lastMs",
    CASE WHEN c.used_ms = 0 THEN 0 ELSE (SELECT count(*) FROM main.ledger_turn t
      WHERE t.conversation = c.shown AND t.project = c.project AND t.model = c.model AND t.at_ms >= c.used_ms
        AND NOT EXISTS (SELECT 1 FROM main.seam_compaction n WHERE n.project = c.project AND n.conversation = c.conversation
          AND n.id > c.id AND n.used_ms > 0 AND n.used_ms <= t.at_ms)) END AS requests
  FROM main.seam_compaction c WHERE c.asked_ms >= ? AND (? = 1 OR c.project IN LIST(?)) AND c.shown = coalesce(?, c.shown)
    AND c.state NOT IN ('lost', 'switched') ORDER BY c.id DESC LIMIT ${MAX_ROWS}`;

/** Conversations that became long enough for a compaction, with and without. */
interface ArmRow {
  readonly arm: string;
  readonly conversations: number;
  readonly requests: number;
  readonly dollars: number;
}

/**
 * Conversations that reached a length, from the request on that did: those of the control group, which get no summaries,
 * and all others, with the price of their summaries. `null` without a control group.
 *
 * @param tokens - the length
 * @throws StoreUnavailable
 */
export async function readHoldout(
  sql: Pick<Rows, 'all'>,
  query: SeamsQuery,
  tokens: number,
): Promise<SeamsHoldout | null> {
  const [since, scope] = [Math.trunc(query.sinceMs), scopeOf(query)];
  const arms = await sql.all<ArmRow>(ARMS, [since, tokens, ...scope]);
  const made = await sql.all<ArmRow>(MADE_IN_ARMS, [since, ...scope]);
  const of = (isControl: boolean): SeamsArm => {
    const own = (rows: readonly ArmRow[]): ArmRow[] => rows.filter(({ arm }) => (arm === 'control') === isControl);
    const sum = (rows: readonly ArmRow[], field: 'conversations' | 'requests' | 'dollars'): number =>
      own(rows).reduce((all, row) => all + Number(row[field]), 0);
    const [requests, usd] = [sum(arms, 'requests'), sum(arms, 'dollars') + sum(made, 'dollars')];
    return {
      conversations: sum(arms, 'conversations'),
      requests,
      compactions: sum(made, 'requests'),
      usd,
      usd_per_request: requests === 0 ? null : usd / requests,
    };
  };
  const control = of(true);
  return control.conversations === 0 ? null : { control, others: of(false) };
}

const ARMS = `SELECT t.arm, count(DISTINCT t.conversation) AS conversations, count(*) AS requests,
    coalesce(sum(t.dollars), 0) AS dollars FROM main.ledger_turn t JOIN
    (SELECT project, conversation, min(id) AS id FROM main.ledger_turn WHERE at_ms >= ? AND conversation <> ''
       AND fresh + write5m + write1h + read >= ? GROUP BY project, conversation) f
    ON f.conversation = t.conversation AND f.project = t.project
  WHERE t.id >= f.id AND (? = 1 OR t.project IN LIST(?)) GROUP BY t.arm`;

const MADE_IN_ARMS = `SELECT arm, count(*) AS conversations, count(*) AS requests, coalesce(sum(dollars), 0) AS dollars FROM
    (SELECT c.dollars, (SELECT min(t.arm) FROM main.ledger_turn t WHERE t.conversation = c.shown AND t.project = c.project)
       AS arm FROM main.seam_compaction c WHERE c.asked_ms >= ? AND (? = 1 OR c.project IN LIST(?))
       AND c.state NOT IN ('asked', 'failed', 'lost', 'switched')) made GROUP BY arm`;
