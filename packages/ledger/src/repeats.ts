import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { RepeatReport } from './repeat-report.ts';

/**
 * Reads the figures about repeats since a day.
 *
 * @throws StoreUnavailable
 */
export async function readRepeats(
  store: LedgerStore,
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string | undefined },
): Promise<RepeatReport> {
  const sums = await store.sums({ sinceDay, slice: 'repeat', ...(project !== undefined && { project }) });
  const total = (field: string): number =>
    sums.reduce((sum, { field: name, value }) => (name === field ? sum + value : sum), 0);
  const [texts, lines, tokens] = [total('texts'), total('lines'), total('tokens')];
  return { repeats: { texts, lines, tokens, usd: total('dollars'), read_again: total('readAgain') } };
}
