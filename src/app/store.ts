import type { Settings } from '../config/settings.ts';
import { textHash } from '../core/hash.ts';
import type { StoreHandle, StoreOptions } from '../store/handle.ts';

/** Inputs besides the settings: the clock, and the observers of the store's own work. */
export type StoreParts = Pick<StoreOptions, 'clock' | 'log' | 'onSwept' | 'onDamaged' | 'readonly'>;

/** Longest delay of the start by a store that does not answer. */
const READY_MS = 5_000;

/**
 * Opens the store that the settings name, and waits until it is known whether it can be used. One that cannot is no error here: what
 * needs it says so. Only the driver of that store is loaded.
 */
export async function openStore(settings: Settings, parts: StoreParts): Promise<StoreHandle> {
  const options = {
    ttlMs: settings.pruneIdTtlS * 1000,
    sentTtlMs: settings.sentTtlS * 1000,
    maxBytes: settings.storeMaxBytes,
    conversationShare: settings.storeConversationShare,
    maxEvents: settings.maxEvents,
    auditTtlMs: settings.auditTtlS * 1000,
    ledgerTtlMs: settings.ledgerTtlS === null ? null : settings.ledgerTtlS * 1000,
    hashOf: textHash,
    ...parts,
  };
  if (settings.databaseUrl === null) {
    const { openSqliteStore } = await import('../store/sqlite.ts');
    return whenReady(openSqliteStore({ path: settings.dbPath, sync: settings.storeSync, ...options }));
  }
  const { openPostgresStore } = await import('../store/postgres.ts');
  return whenReady(openPostgresStore({ url: settings.databaseUrl, ...options }));
}

async function whenReady(store: StoreHandle): Promise<StoreHandle> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, READY_MS);
  });
  await Promise.race([store.ready(), late]);
  clearTimeout(timer);
  return store;
}

/** Whether there is a store to look into; one on a database server is there, or says itself that it is not. */
export function storeExists(settings: Settings, fileExists: (path: string) => boolean): boolean {
  return settings.databaseUrl !== null || fileExists(settings.dbPath);
}
