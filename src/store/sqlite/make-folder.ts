import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents, readable only by the owner. On a file system without folders that reports
 * ENOENT (`/proc`), Node's recursive `mkdir` retries forever.
 *
 * @throws errors of the file system
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (cause) {
      // another process created it in the meantime
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw cause;
    }
  }
}
