import { join } from 'node:path';
import type { Store } from '../../src/core/ports.ts';
import { edition } from '../../src/edition.ts';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite.ts';
import { manualClock } from '../contract/store.suite.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';

export const TTL_MS = 80_000;

export { afterwards };

/** Path of a database that does not exist yet, in a folder that goes with the test. */
export function tempPath(): string {
  return join(tempFolder(), 'store.db');
}

/** Opens a store that is closed with the test. */
export function openStore(path: string, over: Partial<SqliteStoreOptions> = {}): SqliteStore {
  const store = openSqliteStore({
    path,
    clock: manualClock(),
    parts: edition.tables,
    ttlMs: TTL_MS,
    maxBytes: 1_000_000_000,
    maxEvents: 1000,
    ...over,
  });
  afterwards(() => store.close());
  return store;
}

export async function sweepAll(store: Store): Promise<void> {
  while (await store.sweep());
}

/** Lines that look like source code and differ from line to line. */
export function codeText(lines: number, seed = 0): string {
  const line = (i: number) => {
    const name = ((i + seed) * 2_654_435_761) % 4_294_967_296;
    return `  const item${name.toString(36)} = await loadItem(options.${'abcdefgh'[i % 8]}Limit, ${i * seed});`;
  };
  return Array.from({ length: lines }, (_, i) => line(i)).join('\n');
}
