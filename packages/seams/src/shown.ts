import type { CompactionShown } from 'mcp-pruner/core/ports/seams-report.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { CompactionBook, type ShownRow, type State } from './book.ts';
import { orNone } from './tables.ts';

const OUTCOMES: Readonly<Record<State, string>> = {
  asked: 'requested, no answer yet',
  ready: 'made, not used yet',
  used: 'in use',
  kept: 'in use',
  failed: 'not made',
  refused: 'refused by the provider and given up; the conversation goes on whole',
  late: 'made, but a request had gone out without it meanwhile; discarded',
};

/** The compactions of a conversation, for `why`. @throws StoreUnavailable */
export async function shownCompactions(
  { sql }: StoreHandle,
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

function outcomeOf({ state, cause }: ShownRow): string {
  return state === 'failed' ? `${OUTCOMES.failed} (${cause.replaceAll('_', ' ')})` : OUTCOMES[state];
}
