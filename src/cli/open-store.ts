import type { Store, StoredPrune } from '../core/ports.ts';
import { StoreUnavailable, UserError } from '../errors/errors.ts';
import type { StoreHandle } from '../store/handle.ts';
import type { Call, Io } from './command.ts';
import { readSettings } from './read-settings.ts';

/**
 * Opens the store read-only, calls `use` with it and closes it. A missing store is not created.
 *
 * @throws UserError if there is no store or it cannot be read
 */
export async function withStore<T>(call: Call, io: Io, use: (store: StoreHandle) => Promise<T>): Promise<T> {
  const { settings } = readSettings(call, io);
  const { openStore, storeExists } = await import('../app/store.ts');
  if (!storeExists(settings, (path) => io.fileExists(path))) {
    throw new UserError(
      `there is no store at ${settings.dbPath}: mcp-pruner serve makes it; MCP_PRUNER_DB_PATH names another`,
    );
  }
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  try {
    return await use(store);
  } catch (cause) {
    if (cause instanceof StoreUnavailable) throw new UserError(store.problem()?.message ?? cause.message, { cause });
    throw cause;
  } finally {
    await store.close();
  }
}

/** A prune and its original text. */
export interface Original {
  readonly prune: StoredPrune;
  readonly text: string;
}

/**
 * Finds a prune id and its original.
 *
 * @throws UserError if the store does not have it
 */
export async function findOriginal(store: Store, pruneId: string): Promise<Original> {
  const [prune, text] = [await store.findPrune(pruneId), await store.findOriginal(pruneId)];
  if (prune === null || text === null) {
    throw new UserError(`the store has no ${JSON.stringify(pruneId)}: it is unknown here, has expired or was deleted`);
  }
  return { prune, text };
}
