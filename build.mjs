// node build.mjs [folder]
// Makes dist/, or that folder: one file for each part that is loaded at one time, libraries included. A start that reads
// 55 files instead of 774 takes two thirds of the CPU; what runs is still split where the code says `import()`.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { buildPage } from './build-page.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const source = (path) => join(root, 'src', path);

const bundle = await rolldown({
  cwd: root,
  input: { cli: source('cli.ts'), index: source('index.ts'), 'parts/decide-worker': source('workers/decide-worker.ts') },
  platform: 'node',
  // its main file asks for its parts by a require of its own, which no bundler can follow
  resolve: { alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') } },
  logLevel: 'warn',
  external: ['better-sqlite3', 'better-sqlite3-13'],
});
const { output } = await bundle.write({
  dir: out,
  cleanDir: true,
  format: 'esm',
  sourcemap: true,
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name].js',
});
await bundle.close();
chmodSync(join(out, 'cli.js'), 0o755);

const ofPage = await buildPage(join(out, 'page'));
const libraries = new Set();
for (const id of [...output.flatMap(({ moduleIds = [] }) => moduleIds), ...ofPage]) {
  const folder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
  if (folder) libraries.add(folder);
}
writeFileSync(join(out, 'licences.txt'), [...libraries].sort().map(licenceOf).join(`\n${'-'.repeat(80)}\n`));

/** What the licence of a library asks to be kept with a copy of it. */
function licenceOf(folder) {
  const { name, version, license = 'no licence named' } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8') : ''}`;
}
