import type { Prices } from '@mcp-pruner/money/prices.ts';
import type { CompactionShown } from 'mcp-pruner/core/ports/seams-report.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { CompactionBook, type ShownRow, type ShownState } from './book.ts';
import type { SeamsQuery } from './finished.ts';
import { readFigures } from './saved.ts';
import type { ConversationShown } from './shapes.ts';
import { orNone } from './tables.ts';

const OUTCOMES: Readonly<Record<ShownState, string>> = {
  asked: 'requested, no answer yet',
  ready: 'made, not used yet',
  used: 'in use',
  kept: 'in use',
  failed: 'not made',
  refused: 'refused by the provider and given up; the conversation goes on whole',
  lost: 'erased or lost; the conversation goes on without what the model thought before',
  late: 'made, but a request had gone out without it meanwhile; discarded',
};

/** The compactions of a conversation, for `why`. @throws StoreUnavailable */
export async function shownCompactions(
  { sql }: Pick<StoreHandle, 'sql'>,
  conversation: string,
): Promise<readonly CompactionShown[]> {
  const rows = await orNone(new CompactionBook(sql).ofShown(conversation), []);
  return rows.map((row) => ({
    atMs: Number(row.atMs),
    outcome: outcomeOf(row),
    tokens: Number(row.weight),
    dollars: Number(row.dollars),
  }));
}

/**
 * The compactions of a conversation, for the page.
 *
 * @param projects - those of the viewer; all if absent
 * @throws StoreUnavailable
 */
export async function readConversation(
  { sql }: Pick<StoreHandle, 'sql'>,
  prices: Pick<Prices, 'of'>,
  { nowMs, projects, conversation }: Omit<SeamsQuery, 'sinceMs'>,
): Promise<ConversationShown> {
  const rows = await readFigures(sql, prices, { sinceMs: 0, nowMs, projects, conversation });
  return {
    summaries: rows.toReversed().map(({ atMs, weight, dollars, state, cause, replaced, saved, after, isOver }) => ({
      ...{ atMs, tokens: weight, dollars, outcome: outcomeOf({ state, cause }) },
      ...{ replaced, saved, after, isOver },
    })),
  };
}

function outcomeOf({ state, cause }: Pick<ShownRow, 'state' | 'cause'>): string {
  return state === 'failed' ? `${OUTCOMES.failed} (${cause.replaceAll('_', ' ')})` : OUTCOMES[state];
}
