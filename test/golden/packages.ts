import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const modules = join(import.meta.dirname, '..', '..', 'node_modules');

/** Packages that texts are read from; the lock file pins them, and the hashes hold for the version recorded with them. */
const PACKAGES = ['zod', 'express', 'undici', 'pino', 'better-sqlite3', '@types/node'] as const;
type Package = (typeof PACKAGES)[number];

/** A file of one of the packages. Throws where it is missing. */
export function packageFile(name: Package, path: string): string {
  return readFileSync(join(modules, name, path), 'utf8');
}

/** The installed version of each package, `missing` where there is none. */
export function installedVersions(): Record<string, string> {
  return Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)]));
}

function versionOf(name: Package): string {
  try {
    return String((JSON.parse(packageFile(name, 'package.json')) as { version: unknown }).version);
  } catch {
    return 'missing';
  }
}
