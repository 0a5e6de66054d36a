import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Settings } from './settings.ts';
import { isLoopbackHost } from './warnings.ts';

/** Paths that need no quoting in a shell or marker, short enough to leave room for a marker's reason. */
const PLAIN_PATH = /^\/[\w./-]{1,60}\/cli\.js$/;

/**
 * Command named in markers for agents without `recover_text` if `mcp-pruner` is not on the PATH: runs this proxy's
 * file.
 *
 * @param program - absolute path of the program's file
 * @returns `undefined` if markers should name `mcp-pruner`: it is on the PATH, or agents may run on other machines
 */
export function recoverCommand(settings: Settings, path: string, program: string): string | undefined {
  const isOwnMachine = isLoopbackHost(settings.host) && settings.databaseUrl === null;
  if (!isOwnMachine || !PLAIN_PATH.test(program) || isOnPath('mcp-pruner', path)) return undefined;
  return `node ${program}`;
}

export function isOnPath(name: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
