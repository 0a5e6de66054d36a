import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder that only its owner can read, and those above it that are missing. One at a time: where a file system
 * takes no folder and says that there is none (`/proc`), Node's recursive `mkdir` tries without end.
 *
 * @throws what the file system says
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (cause) {
      // another process made it meanwhile
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw cause;
    }
  }
}
