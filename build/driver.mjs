// node build/driver.mjs
// Makes SQLite's driver usable in a clone. From Node 22 on it comes with its binary. On Node 20 it is compiled here, once:
// .npmrc keeps npm from running scripts of packages, because npm would compile both drivers, and ask other hosts for binaries.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { argv, env, execPath, exit, stderr, version } from 'node:process';
import { fileURLToPath } from 'node:url';
import { takeLock } from './lock.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = 'better-sqlite3';
const INSTEAD = 'Use Node 22 or newer, which needs no compiler; or install a C++ compiler, make and python3';

/**
 * Compiles the driver of Node 20 if it is missing. Does nothing on newer versions.
 *
 * @returns {string | null} what is wrong and what to do, in one line; `null` if the driver is usable
 */
export function makeDriver() {
  if (Number(version.slice(1).split('.')[0]) >= 22 || isUsable()) return null;
  const headers = env.npm_config_nodedir ?? dirname(dirname(execPath));
  if (!existsSync(join(headers, 'include/node/node.h')))
    return `SQLite's driver cannot be compiled: ${headers} has no include/node. ${INSTEAD}, and set npm_config_nodedir to a folder with Node's headers.`;
  const release = takeLock(
    join(root, 'node_modules/.cache/sqlite-driver.lock'),
    'Node 20: another process compiles SQLite; waiting for it',
  );
  try {
    return isUsable() ? null : compile(headers);
  } finally {
    release();
  }
}

/** @returns {string | null} as `makeDriver` */
function compile(headers) {
  stderr.write('Node 20: compiling SQLite, once (two minutes)\n');
  const {
    status,
    stdout,
    stderr: problems,
  } = spawnSync('npm', ['rebuild', PACKAGE, '--ignore-scripts=false', '--foreground-scripts'], {
    cwd: root,
    encoding: 'utf8',
    // from source: the package's script would ask another host than the registry for a binary
    env: { ...env, npm_config_nodedir: headers, npm_config_build_from_source: 'true' },
    shell: process.platform === 'win32', // npm is npm.cmd there
  });
  if (status === 0 && isUsable()) return null;
  const log = join(root, 'node_modules/.cache/sqlite-driver.log');
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, `${stdout ?? ''}${problems ?? ''}`);
  return `SQLite's driver could not be compiled on Node ${version}. ${INSTEAD}, and run this command again. Output of the compiler: ${log}`;
}

/** In a process of its own: a failed load of an addon cannot be repeated in the same one. */
function isUsable() {
  const path = createRequire(import.meta.url).resolve(PACKAGE);
  return spawnSync(execPath, ['-e', 'new (require(process.argv[1]))(":memory:").close()', path]).status === 0;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const problem = makeDriver();
  if (problem !== null) {
    stderr.write(`${problem}\n`);
    exit(1);
  }
}
