import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Io } from './command.ts';
import type { Finding } from './finding.ts';

/** Whether originals can be kept. */
export async function checkStore(settings: Settings, io: Io): Promise<Finding> {
  const { dbPath: path } = settings;
  if (settings.databaseUrl !== null)
    return look(settings, io, 'on the database server', 'check MCP_PRUNER_DATABASE_URL');
  if (path === ':memory:') {
    return { level: 'note', what: 'the store is in memory only: a restart loses all originals' };
  }
  const advice = 'correct its rights or MCP_PRUNER_DB_PATH; a file that is broken can be moved away';
  if (!io.fileExists(path)) {
    const folder = nearestFolder(path);
    return isWritable(folder) && statSync(folder).isDirectory()
      ? { level: 'ok', what: `the store ${path} will be made at the first start` }
      : {
          level: 'failure',
          what: `the store ${path} cannot be made: ${folder} is no folder that can be written to`,
          advice,
        };
  }
  if (!isWritable(path)) return { level: 'failure', what: `the store ${path} is not writable`, advice };
  return look(settings, io, path, advice);
}

async function look(settings: Settings, io: Io, where: string, advice: string): Promise<Finding> {
  const { openStore } = await import('../app/store.ts');
  const store = await openStore(settings, { readonly: true, clock: io.clock });
  try {
    const { prunes, bytes } = await store.stats();
    return { level: 'ok', what: `the store ${where} holds ${prunes} prunes in ${Math.ceil(bytes / 1024)} KiB` };
  } catch {
    const why = store.problem()?.message ?? 'it cannot be read';
    return { level: 'failure', what: `the store ${where} is of no use: ${why}`, advice };
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
