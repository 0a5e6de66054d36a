import type { ColdStashReport } from 'mcp-pruner/core/ports/cold-report.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';

/**
 * Reads the figures since a day; with `measure`, the hypothetical figures.
 *
 * @throws StoreUnavailable
 */
export async function readColdFigures(
  store: LedgerStore,
  setting: ColdStashReport['cold_stash']['setting'],
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string | undefined },
): Promise<ColdStashReport> {
  const sums = await store.sums({ sinceDay, slice: 'cold', ...(project !== undefined && { project }) });
  const total = (field: string): number =>
    sums.reduce((sum, { field: name, value }) => (name === field ? sum + value : sum), 0);
  const [conversations, results, tokens] = [total('conversations'), total('results'), total('tokens')];
  const usd = total('dollars');
  const cold_moments: Record<string, number> = {};
  for (const { field, value } of sums) {
    if (!field.startsWith(MOMENT)) continue;
    const cause = field.slice(MOMENT.length);
    cold_moments[cause] = (cold_moments[cause] ?? 0) + value;
  }
  const recovered = total('recovered');
  return { cold_stash: { setting, conversations, results, tokens, usd, recovered }, cold_moments };
}

/** Prefix of the cause in field names of cold moments. */
const MOMENT = 'moment:';
