import { posix, win32 } from 'node:path';

/** The machine as configuration sees it; handed in, so that reading the configuration is a function of its inputs. */
export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string;
  readonly cwd: string;
}

function pathsOf(place: Place): typeof posix {
  return place.platform === 'win32' ? win32 : posix;
}

/** A folder for this program: below the one that a variable names, or else below a folder of the user's home. */
function ownFolder(place: Place, variable: string, ...belowHome: string[]): string {
  const { isAbsolute, join } = pathsOf(place);
  const named = place.env[variable];
  // the XDG rules want a relative value ignored
  const base = named !== undefined && isAbsolute(named) ? named : join(place.homeDir, ...belowHome);
  return join(base, 'mcp-pruner');
}

/** Where the store is when nothing says otherwise. */
export function defaultDbPath(place: Place): string {
  const folder =
    place.platform === 'win32'
      ? ownFolder(place, 'LOCALAPPDATA', 'AppData', 'Local')
      : ownFolder(place, 'XDG_DATA_HOME', '.local', 'share');
  return pathsOf(place).join(folder, 'store.db');
}

/** The configuration file that is read, if present, when none is named. */
export function defaultConfigFile(place: Place): string {
  const folder =
    place.platform === 'win32'
      ? ownFolder(place, 'APPDATA', 'AppData', 'Roaming')
      : ownFolder(place, 'XDG_CONFIG_HOME', '.config');
  return pathsOf(place).join(folder, 'config.toml');
}

/** Makes a path absolute: `~/` is the home, anything else relative starts at `base`. */
export function absolutePath(place: Place, path: string, base = place.cwd): string {
  const { join, resolve } = pathsOf(place);
  if (path === '~' || path.startsWith('~/')) return join(place.homeDir, path.slice(1));
  return resolve(base, path);
}

/** The folder that a file stands in. */
export function folderOf(place: Place, path: string): string {
  return pathsOf(place).dirname(path);
}
