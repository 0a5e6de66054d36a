import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Settings } from './settings.ts';
import { isLoopbackHost } from './warnings.ts';

/** A path that a shell and a marker take as it is, short enough to leave a marker room for its reason. */
const PLAIN_PATH = /^\/[\w./-]{1,60}\/cli\.js$/;

/**
 * The command in markers for an agent without `recover_text`, if `mcp-pruner` is not on the PATH: it runs the file of
 * this proxy.
 *
 * @param program - absolute path of the program's file
 * @returns `undefined` if markers should name `mcp-pruner`: it is on the PATH, or agents may run on other machines
 */
export function recoverCommand(settings: Settings, path: string, program: string): string | undefined {
  const isOwnMachine = isLoopbackHost(settings.host) && settings.databaseUrl === null;
  if (!isOwnMachine || !PLAIN_PATH.test(program) || isOnPath('mcp-pruner', path)) return undefined;
  return `node ${program}`;
}

/** Whether a program of that name is in a folder of PATH. */
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
