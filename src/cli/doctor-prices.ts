import type { Settings } from '../config/settings.ts';
import type { LedgerSum } from '../core/ports/ledger.ts';
import { pricesOf } from '../ledger/installed-prices.ts';
import type { Io } from './command.ts';
import type { Finding } from './finding.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Whether the file of prices that the settings name can be used, and which models of the last month have no price; says
 * nothing where there is nothing to say.
 */
export async function checkPrices(settings: Settings, io: Io): Promise<Finding[]> {
  const { problems, warnings } = pricesOf(settings);
  const advice = 'correct the file, or let MCP_PRUNER_PRICES name another; all other prices hold';
  return [
    ...problems.map((what) => ({ level: 'failure', what, advice }) as const),
    ...warnings.map((what) => ({ level: 'note', what }) as const),
    ...(await unpriced(settings, io)),
  ];
}

async function unpriced(settings: Settings, io: Io): Promise<Finding[]> {
  const [{ openStore, storeExists }, { reportOf }] = await Promise.all([
    import('../app/store.ts'),
    import('../ledger/report.ts'),
  ]);
  if (!storeExists(settings, (path) => io.fileExists(path))) return [];
  const sinceDay = new Date(io.clock.nowMs() - DAYS * DAY_MS).toISOString().slice(0, 10);
  const store = await openStore(settings, { readonly: true, clock: io.clock });
  try {
    const sums: readonly LedgerSum[] = await store.ledger.sums({ sinceDay, slice: 'model' });
    const advice = 'MCP_PRUNER_PRICES names a file with their prices';
    return reportOf({ sinceDay }, sums, [], []).notes.map((what) => ({ level: 'note', what, advice }) as const);
  } catch {
    return []; // faults of the store are reported elsewhere
  } finally {
    await store.close();
  }
}
