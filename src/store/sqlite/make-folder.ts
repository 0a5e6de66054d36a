import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder readable by its owner only, and its missing parents, one at a time. On a file system without folders
 * that reports ENOENT (`/proc`), Node's recursive `mkdir` retries forever.
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
      // another process created it meanwhile
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw cause;
    }
  }
}
