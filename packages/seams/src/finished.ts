import { finishedWork, paidForFinished, type SeamTurn } from '@mcp-pruner/money/finished-work.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import type { SeamsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';

const MAX_LISTED = 100;

interface Row extends Omit<SeamTurn, 'work'> {
  readonly userMessages: number;
  readonly calls: number;
}

/** A period, and the projects or the conversation if not all are wanted. */
export interface SeamsQuery {
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly projects?: readonly string[] | undefined;
  readonly conversation?: string | undefined;
}

/** Values for `(? = 1 OR project IN LIST(?))`: the projects, or all. */
export function scopeOf({ projects }: Pick<SeamsQuery, 'projects'>): [all: 0 | 1, projects: readonly string[]] {
  return [projects === undefined ? 1 : 0, projects ?? []];
}

/** What finished work cost in a period. @throws StoreUnavailable */
export async function readFinished(
  sql: Pick<Rows, 'all'>,
  prices: Pick<Prices, 'of'>,
  query: SeamsQuery,
): Promise<Pick<SeamsReport['seams'], 'weight_usd' | 'conversations'>> {
  const { sinceMs, nowMs } = query;
  const rows = await sql.all<Row>(TURNS, [Math.trunc(sinceMs), ...scopeOf(query)]);
  const turns = rows.map(({ userMessages, calls, ...turn }): SeamTurn => ({ ...turn, work: { userMessages, calls } }));
  const conversations = [...groupBy(turns, (turn) => `${turn.project}\n${turn.conversationId}`).values()];
  const works = conversations.flatMap((own) => finishedWork(own, prices, nowMs) ?? []);
  return {
    weight_usd: conversations.reduce((sum, own) => sum + paidForFinished(own, prices, sinceMs), 0),
    conversations: works
      .sort((a, b) => b.tokens - a.tokens)
      .slice(0, MAX_LISTED)
      .map(({ conversationId, tokens, dollars }) => ({
        id: conversationId,
        weight_tokens: tokens,
        price_usd: dollars,
      })),
  };
}

/** Requests of the conversations that have more than one request with only the user's words. */
const TURNS = `SELECT conversation AS "conversationId", project, model, cloud, client, at_ms AS "atMs", fresh, write5m, write1h,
    read, user_messages AS "userMessages", calls FROM main.ledger_turn
  WHERE conversation IN (SELECT conversation FROM main.ledger_turn WHERE at_ms >= ? AND user_messages > 0 AND calls = 0
      AND conversation <> '' AND (? = 1 OR project IN LIST(?)) GROUP BY conversation)
  ORDER BY project, conversation, id`;
