import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installNode } from '../helpers/install-node.ts';

/** This folder has packages of its own, so that nothing of them is in the tree of the product. */
const folder = fileURLToPath(new URL('.', import.meta.url));
const modules = join(folder, 'node_modules');
/** The lock that was installed last. */
const stamp = join(modules, '.installed-lock');

/**
 * A Node that runs the programs of this folder. They need 22.19; an older one that runs the tests, and the product, gets
 * one beside it.
 */
export function nodeOfSuites(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  const beside = join(modules, '.node');
  mkdirSync(beside, { recursive: true });
  return installNode(24, beside);
}

/**
 * Installs the packages of this folder from its lock, unless that was done before.
 *
 * @throws with a message that says what to do if they cannot be fetched
 */
export function installSuites(): void {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' });
  } catch (cause) {
    const why = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).slice(0, 500) : String(cause);
    throw new Error(`The suites of other projects could not be fetched. Run "npm ci" in ${folder}. ${why}`);
  }
  writeFileSync(stamp, lock);
}

/** Path of a file of an installed package. */
export function fileOf(path: string): string {
  return join(modules, path);
}

/** Imports a file of an installed package. Its types are not known, because the package may not be there. */
export async function importOf<Module>(path: string): Promise<Module> {
  return (await import(pathToFileURL(fileOf(path)).href)) as Module;
}
