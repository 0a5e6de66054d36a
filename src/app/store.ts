import type { Settings } from '../config/settings.ts';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../store/sqlite.ts';

/** What is given beside the settings: who tells the time, and who is told of what the store does by itself. */
export type StoreParts = Pick<SqliteStoreOptions, 'clock' | 'log' | 'onSwept' | 'readonly'>;

/** Opens the store that the settings name. One that cannot be opened is no error here: what needs it says so. */
export function openStore(settings: Settings, parts: StoreParts): SqliteStore {
  return openSqliteStore({
    path: settings.dbPath,
    ttlMs: settings.pruneIdTtlS * 1000,
    sentTtlMs: settings.sentTtlS * 1000,
    maxBytes: settings.storeMaxBytes,
    conversationShare: settings.storeConversationShare,
    sync: settings.storeSync,
    maxEvents: settings.maxEvents,
    ...parts,
  });
}
