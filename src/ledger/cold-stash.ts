import type { LedgerStore } from '../core/ports/ledger-store.ts';
import { dollarsOf, type Prices } from './prices.ts';

/** Old results that were put aside while the provider's cache was cold, as `report --json` prints them. */
export interface ColdStashReport {
  readonly cold_stash: {
    readonly setting: 'on' | 'provider' | 'measure' | 'off';
    readonly conversations: number;
    readonly results: number;
    /** Tokens of the results, without their markers. */
    readonly tokens: number;
    /** What later requests would have paid to read them from the cache, in dollars; markers are already subtracted. */
    readonly usd: number;
    /** Results of which a line was given out afterwards. */
    readonly recovered: number;
    /** What the provider cleared itself: how often, and tokens, each counted once. */
    readonly by_provider: { readonly edits: number; readonly tokens: number };
  };
}

/**
 * Reads the figures since a day; with `measure` those of what would have been put aside.
 *
 * @throws StoreUnavailable
 */
export async function readColdStash(
  store: Pick<LedgerStore, 'sums'>,
  setting: ColdStashReport['cold_stash']['setting'],
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string | undefined },
  prices: Pick<Prices, 'of'>,
): Promise<ColdStashReport> {
  const sums = await store.sums({ sinceDay, slice: 'cold', ...(project !== undefined && { project }) });
  const total = (field: string): number =>
    sums.reduce((sum, { field: name, value }) => (name === field ? sum + value : sum), 0);
  const usd = sums.reduce((sum, { day, key, field, value }) => {
    const price = field === 'spared' ? prices.of(key, Date.parse(day)) : null;
    return price === null ? sum : sum + dollarsOf({ ...NOTHING, read: value }, price, 0);
  }, 0);
  const [conversations, results, tokens] = [total('conversations'), total('results'), total('tokens')];
  const by_provider = { edits: total('providerEdits'), tokens: total('providerTokens') };
  return { cold_stash: { setting, conversations, results, tokens, usd, recovered: total('recovered'), by_provider } };
}

const NOTHING = { fresh: 0, write5m: 0, write1h: 0, output: 0 };
