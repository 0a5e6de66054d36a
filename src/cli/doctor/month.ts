import type { Finding } from '../../app/finding.ts';
import type { Settings } from '../../config/settings.ts';
import type { StoreHandle } from '../../store/handle.ts';
import type { Io } from '../command.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;

/** Findings from the ledger's last 30 days; none without a store, whose faults are reported elsewhere. */
export async function findingsOfMonth(
  settings: Settings,
  io: Io,
  read: (store: StoreHandle, sinceDay: string) => Promise<Finding[]>,
): Promise<Finding[]> {
  const { openStore, storeExists } = await import('../../app/store.ts');
  if (!storeExists(settings, (path) => io.fileExists(path))) return [];
  const sinceDay = new Date(io.clock.nowMs() - DAYS * DAY_MS).toISOString().slice(0, 10);
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  try {
    return await read(store, sinceDay);
  } catch {
    return [];
  } finally {
    await store.close();
  }
}
