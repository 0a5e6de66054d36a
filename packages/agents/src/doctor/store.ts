import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import type { Io } from 'mcp-pruner/cli/command.ts';
import type { ProxyHealth } from 'mcp-pruner/cli/run-proxy.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { driverProblem } from 'mcp-pruner/store/sqlite/driver.ts';
import { SAME_STORE_ADVICE, storeDiffers } from '../store-place.ts';

/**
 * Checks whether originals can be stored, and whether the running proxy uses the same store.
 *
 * @param running - `null` if no proxy runs
 */
export async function checkStore(settings: Settings, io: Io, running: ProxyHealth | null): Promise<Finding> {
  const { dbPath: path } = settings;
  const driver = settings.databaseUrl === null ? driverProblem() : null;
  if (driver !== null) return { level: 'failure', what: 'SQLite cannot be used', advice: driver };
  if (settings.databaseUrl !== null) return checkOpened(settings, io, running, 'check MCP_PRUNER_DATABASE_URL');
  if (path === ':memory:') {
    return { level: 'note', what: 'the store is in memory only: a restart loses all originals' };
  }
  const advice = 'correct its permissions or MCP_PRUNER_DB_PATH; a damaged file can be moved away';
  if (!io.fileExists(path)) {
    const differs = storeDiffers(settings, running, null);
    if (differs !== null) return { level: 'failure', what: differs, advice: SAME_STORE_ADVICE };
    const folder = nearestFolder(path);
    return isWritable(folder) && statSync(folder).isDirectory()
      ? { level: 'ok', what: `the store ${path} will be created at the first start` }
      : {
          level: 'failure',
          what: `the store ${path} cannot be created: ${folder} is not a writable folder`,
          advice,
        };
  }
  if (!isWritable(path)) return { level: 'failure', what: `the store ${path} is not writable`, advice };
  return checkOpened(settings, io, running, advice);
}

async function checkOpened(settings: Settings, io: Io, running: ProxyHealth | null, advice: string): Promise<Finding> {
  const where = settings.databaseUrl === null ? settings.dbPath : 'on the database server';
  const { openStore } = await import('mcp-pruner/app/store.ts');
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  try {
    const { prunes, bytes } = await store.stats();
    const differs = storeDiffers(settings, running, await store.id());
    if (differs !== null) return { level: 'failure', what: differs, advice: SAME_STORE_ADVICE };
    return { level: 'ok', what: `the store ${where} holds ${prunes} prunes in ${Math.ceil(bytes / 1024)} KiB` };
  } catch {
    const why = store.problem()?.message ?? 'it cannot be read';
    return { level: 'failure', what: `the store ${where} cannot be used: ${why}`, advice };
  } finally {
    await store.close();
  }
}

function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
