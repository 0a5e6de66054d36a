import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Compiles the store as plain JavaScript for child processes; the caller removes the folder by `remove`. */
export function buildStore(): { readonly module: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-built-store-'));
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const flags = '--ignoreConfig --noCheck --target es2023 --module nodenext --types node --skipLibCheck'.split(' ');
  const files = [join(root, 'src/store/sqlite.ts'), '--rootDir', join(root, 'src'), '--outDir', folder];
  execFileSync(process.execPath, [tsc, ...flags, '--rewriteRelativeImportExtensions', ...files], { timeout: 60_000 });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    module: join(folder, 'store/sqlite.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
