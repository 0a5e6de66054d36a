import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Path of a Node of this major version, as the npm package `node` brings it. */
export function installNode(major: number, folder: string): string {
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--ignore-scripts=false',
    '--loglevel=error',
    `node@${major}`,
  ];
  execFileSync('npm', args, { stdio: 'ignore' });
  const binary = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /node-[^/]+\/bin\/node$/.test(path))
    .map((path) => join(folder, path))
    .find((path) => existsSync(path));
  if (binary === undefined) throw new Error(`the package node@${major} has no binary for this machine`);
  return binary;
}
