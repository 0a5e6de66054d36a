import { posix, win32 } from 'node:path';

/** The machine as seen by the configuration; passed in, so that loading is a pure function of its inputs. */
export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string;
  readonly cwd: string;
}

function pathsOf(place: Place): typeof posix {
  return place.platform === 'win32' ? win32 : posix;
}

/** This program's folder: below the one in a variable, or else below a folder of the user's home. */
function ownFolder(place: Place, variable: string, ...belowHome: string[]): string {
  const { isAbsolute, join } = pathsOf(place);
  const named = place.env[variable];
  // the XDG specification says to ignore relative values
  const base = named !== undefined && isAbsolute(named) ? named : join(place.homeDir, ...belowHome);
  return join(base, 'mcp-pruner');
}

/** The default location of the store. */
export function defaultDbPath(place: Place): string {
  const folder =
    place.platform === 'win32'
      ? ownFolder(place, 'LOCALAPPDATA', 'AppData', 'Local')
      : ownFolder(place, 'XDG_DATA_HOME', '.local', 'share');
  return pathsOf(place).join(folder, 'store.db');
}

/** The folder of the store's file or, if the store is in memory, of the default store. Only its user can read it. */
export function dataFolder(place: Place, dbPath: string): string {
  return pathsOf(place).dirname(dbPath === ':memory:' ? defaultDbPath(place) : dbPath);
}

/** The default configuration file, read if it exists and no other is named. */
export function defaultConfigFile(place: Place): string {
  const folder =
    place.platform === 'win32'
      ? ownFolder(place, 'APPDATA', 'AppData', 'Roaming')
      : ownFolder(place, 'XDG_CONFIG_HOME', '.config');
  return pathsOf(place).join(folder, 'config.toml');
}

/** Makes a path absolute: `~/` is the home, other relative paths start at `base`. */
export function absolutePath(place: Place, path: string, base = place.cwd): string {
  const { join, resolve } = pathsOf(place);
  if (path === '~' || path.startsWith('~/')) return join(place.homeDir, path.slice(1));
  return resolve(base, path);
}

/** The folder of a file. */
export function folderOf(place: Place, path: string): string {
  return pathsOf(place).dirname(path);
}
