import type { Settings } from '../config/settings.ts';
import type { Store, StoredPrune } from '../core/ports.ts';
import { storeFailure, UserError } from '../errors/errors.ts';
import type { StoreHandle } from '../store/handle.ts';
import type { Call, Io } from './command.ts';
import { readSettings } from './read-settings.ts';
import { type ProxyHealth, proxyHealth, proxyUrl } from './run-proxy.ts';
import { wrapped } from './table.ts';

type Use<T> = (store: StoreHandle) => Promise<T>;

/**
 * Opens the store, by default read-only, calls `use` with it and closes it. A missing store is not created. Warns on stderr if the
 * running proxy uses another store.
 *
 * @throws UserError if there is no store or it cannot be read
 */
export async function withStore<T>(call: Call, io: Io, use: Use<T>, readonly = true): Promise<T> {
  const { settings } = readSettings(call, io);
  const { storeExists } = await import('../app/store.ts');
  const running = proxyHealth(proxyUrl(settings), ASK_MS);
  if (!storeExists(settings, (path) => io.fileExists(path))) {
    const advice =
      (await running) === null
        ? 'mcp-pruner serve makes it; MCP_PRUNER_DB_PATH names another'
        : `the proxy at ${proxyUrl(settings)} uses another, which MCP_PRUNER_DB_PATH or MCP_PRUNER_DATABASE_URL names`;
    throw new UserError(`there is no store at ${settings.dbPath}: ${advice}`);
  }
  return usingStore(settings, io, readonly, async (store) => {
    const result = await use(store);
    await noteOtherStore(store, await running, settings, io);
    return result;
  });
}

/** Opens the store, calls `use` with it and closes it. @throws UserError if the store is unavailable */
export async function usingStore<T>(settings: Settings, io: Io, readonly: boolean, use: Use<T>): Promise<T> {
  const { openStore } = await import('../app/store.ts');
  const store = await openStore(settings, { edition: io.edition, clock: io.clock, readonly });
  try {
    return await use(store);
  } catch (cause) {
    const { message } = storeFailure(cause);
    throw new UserError(store.problem()?.message ?? message, { cause });
  } finally {
    await store.close();
  }
}

/** Time limit for the running proxy to report its store. */
const ASK_MS = 1_000;

async function noteOtherStore(
  store: StoreHandle,
  running: ProxyHealth | null,
  settings: Settings,
  io: Io,
): Promise<void> {
  if (running?.storeId === undefined) return;
  const id = await store.id().catch(() => null); // an unusable store is reported by whatever reads it
  if (id === null || running.storeId === id) return;
  const own = settings.databaseUrl === null ? settings.dbPath : 'the database of MCP_PRUNER_DATABASE_URL';
  const line = `this is ${own}; the proxy at ${proxyUrl(settings)} uses another store`;
  io.err(wrapped(line, 'mcp-pruner: ', { columns: io.errColumns }, '  '));
}

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
