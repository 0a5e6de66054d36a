// node build/build.mjs [folder] [--clean] [--types] [--if-changed]
// Builds dist/, or that folder: one file per part that is loaded together, libraries included. A start that reads 55 files
// instead of 774 takes two thirds of the CPU. Parts behind an `import()` stay separate files. With --types, the types of the library
// as well; with --if-changed, nothing if the sources are those of the last build.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { exit, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { aliases, sourceFolders } from './aliases.mjs';
import { makeDriver } from './driver.mjs';
import { takeLock } from './lock.mjs';
import { buildPage } from './page.mjs';
import { writeTypes } from './types.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({
  options: { clean: { type: 'boolean' }, types: { type: 'boolean' }, 'if-changed': { type: 'boolean' } },
  allowPositionals: true,
});
const out = resolve(positionals[0] ?? join(root, 'dist'));
const source = (path) => join(root, 'src', path);
const problem = makeDriver();
if (problem !== null) {
  stderr.write(`${problem}\n`);
  exit(1);
}
const sources = hashOfSources();
const stamp = join(out, 'sources.sha256');
const isBuilt = () => values['if-changed'] && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources;
if (isBuilt()) exit(0);
// two terminals may start in a new clone: the second one waits for the first one's build
takeLock(join(root, 'node_modules/.cache/build.lock'), 'another process builds; waiting for it');
if (isBuilt()) exit(0);

const bundle = await rolldown({
  cwd: root,
  input: {
    cli: source('cli.ts'),
    index: source('index.ts'),
    'parts/decide-worker': source('core/decide/workers/decide-worker.ts'),
    'parts/scan-worker': source('store/sqlite/scan-worker.ts'),
  },
  platform: 'node',
  // its main file asks for its parts by a require of its own, which no bundler can follow
  resolve: { alias: { ...aliases, 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') } },
  logLevel: 'warn',
  external: ['better-sqlite3', 'better-sqlite3-13'],
});
const { output } = await bundle.generate({
  format: 'esm',
  sourcemap: true,
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
});
await bundle.close();
if (values.clean) rmSync(out, { recursive: true, force: true });
// what is loaded by others comes before them, so that a program that starts now finds a whole build, this one or the last
for (const part of [...output].sort((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) put(part);
chmodSync(join(out, 'cli.js'), 0o755);
removeOldParts(new Set(output.map(({ fileName }) => fileName)));

if (values.types) writeTypes(join(out, 'index.d.ts'));
const ofPage = await buildPage(join(out, 'page'));
const libraries = new Set();
for (const id of [...output.flatMap(({ moduleIds = [] }) => moduleIds), ...ofPage]) {
  const folder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
  if (folder) libraries.add(folder);
}
writeFileSync(
  join(out, 'licences.txt'),
  [...libraries]
    .sort()
    .map(licenceOf)
    .join(`\n${'-'.repeat(80)}\n`),
);

writeFileSync(stamp, sources);

/** Hash of all that a build is made from, in hex. */
function hashOfSources() {
  const files = [...sourceFolders, 'build'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  const hash = createHash('sha256');
  for (const file of [...files, 'package.json', 'package-lock.json', 'tsconfig.json'].sort()) {
    if (statSync(join(root, file)).isFile()) hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

function isEntry({ type, isEntry = false }) {
  return type === 'chunk' && isEntry;
}

/** Writes a file in one step: a server that is running may load it at any moment. An unchanged part is left in place. */
function put({ type, fileName, code, source }) {
  const file = join(out, fileName);
  const content = Buffer.from(type === 'chunk' ? inAscii(code) : source);
  if (existsSync(file) && readFileSync(file).equals(content)) return utimesSync(file, new Date(), new Date());
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

/**
 * Code without characters beyond ASCII. V8 keeps a file with a single one of them as UTF-16, in twice the memory; that
 * are 3 MB of an idle server. Escapes mean the same in strings, templates, expressions and names, but not after a backslash.
 */
function inAscii(code) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return code.replace(/(\\*)([^\0-\x7f]+)/g, (all, backslashes, signs) =>
    backslashes.length % 2 === 1 ? all : backslashes + signs.replace(/[\s\S]/g, escaped),
  );
}

/**
 * Deletes the parts of builds that are more than a week old. A server that is running loads some of its parts on first use,
 * so a build leaves the parts of the builds before it in place; the hash in their names keeps the builds apart.
 */
function removeOldParts(current) {
  const oldestMs = Date.now() - 7 * 24 * 3_600_000;
  for (const name of readdirSync(join(out, 'parts'))) {
    const file = join(out, 'parts', name);
    if (!current.has(`parts/${name}`) && statSync(file).mtimeMs < oldestMs) rmSync(file);
  }
}

/** The licence and the notices of a library, which have to accompany its copy in dist/. */
function licenceOf(folder) {
  const {
    name,
    version,
    license = 'no licence named',
  } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((entry) => /^(?:licen[cs]e|notice)/i.test(entry))
    .map((entry) => readFileSync(join(folder, entry), 'utf8'));
  return [`${name} ${version} (${license})`, ...texts].join('\n\n');
}
