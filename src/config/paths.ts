import { posix, win32 } from 'node:path';

/** Facts about the machine, passed in so that loading is a pure function. */
export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string;
  readonly cwd: string;
}

function pathsOf(place: Place): typeof posix {
  return place.platform === 'win32' ? win32 : posix;
}

/** This program's folder: below the folder in a variable, or else below the user's home. */
function ownFolder(place: Place, variable: string, ...belowHome: string[]): string {
  const { isAbsolute, join } = pathsOf(place);
  const named = place.env[variable];
  // the XDG specification requires ignoring relative values
  const base = named !== undefined && isAbsolute(named) ? named : join(place.homeDir, ...belowHome);
  return join(base, 'mcp-pruner');
}

export function defaultDbPath(place: Place): string {
  const folder =
    place.platform === 'win32'
      ? ownFolder(place, 'LOCALAPPDATA', 'AppData', 'Local')
      : ownFolder(place, 'XDG_DATA_HOME', '.local', 'share');
  return pathsOf(place).join(folder, 'store.db');
}

/** The folder of the store's file or, if the store is in memory, of the default store. Readable only by its user. */
export function dataFolder(place: Place, dbPath: string): string {
  return pathsOf(place).dirname(dbPath === ':memory:' ? defaultDbPath(place) : dbPath);
}

/** The default configuration file, read if it exists and no other is specified. */
export function defaultConfigFile(place: Place): string {
  const folder =
    place.platform === 'win32'
      ? ownFolder(place, 'APPDATA', 'AppData', 'Roaming')
      : ownFolder(place, 'XDG_CONFIG_HOME', '.config');
  return pathsOf(place).join(folder, 'config.toml');
}

/** Makes a path absolute: `~/` is the home folder, other relative paths are resolved against `base`. */
export function absolutePath(place: Place, path: string, base = place.cwd): string {
  const { join, resolve } = pathsOf(place);
  if (path === '~' || path.startsWith('~/')) return join(place.homeDir, path.slice(1));
  return resolve(base, path);
}

export function folderOf(place: Place, path: string): string {
  return pathsOf(place).dirname(path);
}
