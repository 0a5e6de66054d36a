import { createRequire } from 'node:module';
import type Database from 'better-sqlite3';

/**
 * Which driver suits this Node: better-sqlite3 13 wants Node 22 and brings its binary; 12 is compiled at installation. From
 * Node 24.19 on 12 aborts the process when a statement is collected while nothing else runs, so it serves Node 20 alone.
 */
const NAME = Number(process.versions.node.split('.')[0]) >= 22 ? 'better-sqlite3-13' : 'better-sqlite3';

const require = createRequire(import.meta.url);

/** Where the driver is, for another thread. @throws Error where it was not installed */
export function driverFile(): string {
  return require.resolve(NAME);
}

/**
 * The driver, loaded with its first use.
 *
 * @throws Error that says what to do where it was not installed, or not for this Node
 */
export function sqliteDriver(): typeof Database {
  try {
    return require(NAME) as typeof Database;
  } catch (cause) {
    throw new Error(`SQLite's driver cannot be loaded on Node ${process.version}: ${MEND}`, { cause });
  }
}

/** Why the driver cannot be loaded, and what to do about it, in one line; `null` where it can. */
export function driverProblem(): string | null {
  try {
    sqliteDriver();
    return null;
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

const MEND =
  NAME === 'better-sqlite3'
    ? 'it is compiled at installation, which needs a C++ compiler, make and python3; then run npm rebuild better-sqlite3'
    : 'run npm install again with this Node';
