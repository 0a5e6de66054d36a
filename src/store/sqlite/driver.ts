import { createRequire } from 'node:module';
import type Database from 'better-sqlite3';
import { messageOf } from '../../base/causes.ts';

/**
 * The driver for this Node version. better-sqlite3 13 requires Node 22 and ships a binary. Node 20 needs version 12,
 * which must be compiled: by the build (`build/driver.mjs`) in a clone, otherwise by the user. Since Node 24.19,
 * version 12 may abort idle processes when statements are garbage-collected, so it is used only with Node 20.
 */
const NAME = Number(process.versions.node.split('.')[0]) >= 22 ? 'better-sqlite3-13' : 'better-sqlite3';

const require = createRequire(import.meta.url);

/** Path of the driver, for another thread. @throws Error if it is not installed */
export function driverFile(): string {
  return require.resolve(NAME);
}

let isTried = false;

/**
 * The driver, loaded on first use.
 *
 * @throws Error with instructions if it is not installed, or not for this Node
 */
export function sqliteDriver(): typeof Database {
  try {
    const driver = require(NAME) as typeof Database;
    // the package may lack its binary, which is loaded only when a database is opened
    if (!isTried) new driver(':memory:').close();
    isTried = true;
    return driver;
  } catch (cause) {
    throw new Error(`SQLite's driver cannot be loaded on Node ${process.version}: ${REPAIR_ADVICE}`, { cause });
  }
}

/** Why the driver cannot be loaded, with instructions, on one line; `null` if it works. */
export function driverProblem(): string | null {
  try {
    sqliteDriver();
    return null;
  } catch (cause) {
    return messageOf(cause);
  }
}

const REPAIR_ADVICE =
  NAME === 'better-sqlite3'
    ? 'use Node 22 or newer, which needs no compiler; or install a C++ compiler, make and python3, then run npm run build (in a clone) or npm install --global better-sqlite3@12'
    : 'run npm install again with this Node';
