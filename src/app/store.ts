import { getHeapStatistics } from 'node:v8';
import type { Settings } from '../config/settings.ts';
import { textHash } from '../core/hash.ts';
import type { Clock } from '../core/ports.ts';
import { UserError } from '../errors/errors.ts';
import { StoreWait } from '../proxy/store-wait.ts';
import type { StoreHandle, StoreOptions } from '../store/handle.ts';
import type { DatabaseServer, Edition } from './guest.ts';

/** Inputs besides the settings: edition, clock, and callbacks about the store's work. */
export interface StoreParts extends Pick<StoreOptions, 'clock' | 'log' | 'onSwept' | 'onDamaged' | 'readonly'> {
  readonly edition: Pick<Edition, 'tables' | 'database'>;
}

/** Maximum share of the store for one conversation. */
const CONVERSATION_SHARE = 0.25;

/** Maximum delay of the start by an unresponsive store, in milliseconds. */
const READY_MS = 5_000;

/**
 * Opens the configured store and waits for the first attempt to open it, up to `READY_MS`. An unavailable store is not
 * an error here, since the code that uses it reports that. Only this store's driver is loaded.
 */
export async function openStore(settings: Settings, { edition, ...parts }: StoreParts): Promise<StoreHandle> {
  const options = { ...limitsOf(settings), hashOf: textHash, parts: edition.tables, ...parts };
  if (settings.databaseUrl === null) {
    const { openSqliteStore } = await import('../store/sqlite.ts');
    return whenReady(openSqliteStore({ path: settings.dbPath, sync: settings.storeSync, ...options }));
  }
  return whenReady(await serverOf(edition).open({ url: settings.databaseUrl, ...options }));
}

/** Opens the file in which a replica on a database keeps what it has sent itself. */
export async function openOwnFile(settings: Settings, clock: Clock): Promise<StoreHandle> {
  const { openSqliteStore } = await import('../store/sqlite.ts');
  const store = openSqliteStore({ path: settings.dbPath, sync: settings.storeSync, ...limitsOf(settings), clock });
  await store.ready();
  return store;
}

function limitsOf(settings: Settings) {
  return {
    ttlMs: settings.pruneIdTtlS * 1000,
    maxBytes: settings.storeMaxBytes,
    conversationShare: CONVERSATION_SHARE,
    maxEvents: settings.maxEvents,
    auditTtlMs: settings.auditTtlS * 1000,
    ledgerTtlMs: settings.ledgerTtlS === null ? null : settings.ledgerTtlS * 1000,
  };
}

/** @throws UserError in an edition without database servers */
export function serverOf({ database }: Pick<Edition, 'database'>): DatabaseServer {
  if (database !== undefined) return database;
  throw new UserError('this edition has no store on a database server: remove MCP_PRUNER_DATABASE_URL');
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

/** Whether there is a store to read. For database servers this is assumed; otherwise opening reports it. */
export function storeExists(settings: Settings, fileExists: (path: string) => boolean): boolean {
  return settings.databaseUrl !== null || fileExists(settings.dbPath);
}

/** Share of the heap for bodies waiting for the database, which are not parsed yet. */
const WAITING_HEAP_SHARE = 1 / 8;

/** Maximum wait of a request with a bound history for a locked file, in milliseconds. */
const LOCK_WAIT_MS = 10_000;

/** Lets requests wait while the database is unavailable or locked. */
export function storeWaitOf({ databaseUrl, databaseWaitMs }: Settings, store: StoreHandle): StoreWait {
  return new StoreWait({
    problem: () => store.problem(),
    untilBack: (ms) => store.untilBack(ms),
    maxMs: databaseUrl === null ? LOCK_WAIT_MS : databaseWaitMs,
    // a file is only locked, and without a bound history its requests can go whole
    waitsFor: databaseUrl === null ? 'bound' : 'all',
    maxBytes: getHeapStatistics().heap_size_limit * WAITING_HEAP_SHARE,
  });
}
