import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';

const NAME = 'mcp-pruner';

/**
 * Rewrites `mcp-pruner <command>` in hints to `npx mcp-pruner <command>` if the shell does not find the program.
 *
 * @param commands - names of the commands, so that other sentences with the program's name stay as they are
 * @param process - where the program runs: its PATH, and the script that was started
 */
export function typedHere(
  commands: readonly string[],
  { env, argv }: Pick<NodeJS.Process, 'env' | 'argv'>,
): (hint: string) => string {
  if (isInstalled(env.PATH ?? '', argv[1] ?? '')) return (hint) => hint;
  const hints = new RegExp(`(?<!npx )\\b${NAME}(?= (?:${commands.join('|')}|help|--help|<command>)(?![\\w-]))`, 'g');
  return (hint) => hint.replace(hints, `npx ${NAME}`);
}

/** Whether a shell finds this program by name. npm adds folders of its own to PATH, which are not the shell's. */
function isInstalled(path: string, script: string): boolean {
  return path.split(delimiter).some((folder) => {
    if (folder === '' || folder.includes(`${sep}node_modules${sep}`) || folder.endsWith(`node_modules${sep}.bin`))
      return false;
    return isExecutable(join(folder, NAME)) && (script === '' || isSameProgram(join(folder, NAME), script));
  });
}

/** Whether both are scripts of one installation: `bin/` and `dist/` lie beside each other. */
function isSameProgram(command: string, script: string): boolean {
  try {
    return join(realpathSync(command), '../..') === join(realpathSync(script), '../..');
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
