// npm run release -- --dry-run [--node 20,22,24] [--out <folder>]
// Does everything of a release that needs no network beyond the npm registry: compares the manifests with package.json,
// builds, packs, tries the tarball in an empty folder on each Node, and writes checksums, an SBOM and the Homebrew formula.
// Publishing is done by .github/workflows/release.yml from the same files, so --dry-run is the only mode here.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { differing } from './manifests.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean' },
    node: { type: 'string', default: '20,22,24' },
    out: { type: 'string', default: join(root, 'dist-release') },
    tag: { type: 'string' },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
const fail = (text) => {
  process.stderr.write(`release: ${text}\n`);
  process.exit(1);
};

if (!values['dry-run'])
  fail('nothing is published from here: add --dry-run, or push a tag v<version> for the workflow');

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { name, version } = manifest;
const out = resolve(values.out);

checkVersion();
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const tarball = pack();
for (const major of values.node.split(',')) tryOn(major.trim(), tarball);
writeSbom();
writeFormula(tarball);
writeChecksums();
say(`${name} ${version} is ready in ${out}: ${readdirSync(out).join(', ')}`);

/** One version everywhere; a tag names the same one. */
function checkVersion() {
  const wrong = differing().map(([path]) => path);
  if (wrong.length > 0) fail(`these manifests differ from package.json (npm run manifests): ${wrong.join(', ')}`);
  if (values.tag !== undefined && values.tag !== `v${version}`)
    fail(`the tag is ${values.tag}, package.json says ${version}`);
  if (!readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes('## Unreleased'))
    fail('CHANGELOG.md has no part "Unreleased"');
  say(`version ${version}: all manifests agree`);
}

/** @returns the path of the tarball */
function pack() {
  execFileSync(process.execPath, [join(root, 'build/build.mjs'), '--clean', '--types'], {
    cwd: root,
    stdio: 'inherit',
  });
  const [{ filename, files, size }] = JSON.parse(npm(['pack', '--json', '--silent', '--pack-destination', out], root));
  say(`${filename}: ${files.length} files, ${(size / 1024).toFixed(0)} KiB`);
  return join(out, filename);
}

/** Installs the tarball in an empty folder with this Node, and uses it as a new user would. */
function tryOn(major, file) {
  const folder = mkdtempSync(join(tmpdir(), `mcp-pruner-release-${major}-`));
  try {
    const own = Number(process.versions.node.split('.')[0]) === Number(major);
    const bin = own ? null : binOf(major, folder);
    const home = join(folder, 'home');
    const work = join(folder, 'work');
    for (const path of [home, work]) mkdirSync(path);
    const path = bin === null ? process.env.PATH : `${bin}:${process.env.PATH}`;
    const nodedir = bin === null ? {} : { npm_config_nodedir: resolve(bin, '..') };
    const env = { ...process.env, PATH: path, ...nodedir };
    // Node 20 needs a driver that is compiled; newer versions of npm run scripts of listed packages only
    writeFileSync(join(work, 'package.json'), '{"private":true,"allowScripts":{"better-sqlite3":true}}');
    const driver = Number(major) < 22 ? ['better-sqlite3@12', '--build-from-source'] : [];
    npm(['install', '--no-audit', '--no-fund', '--loglevel=error', file, ...driver], work, env);
    const run = (...args) =>
      execFileSync(join(work, 'node_modules/.bin', name), args, {
        cwd: work,
        env: { ...env, HOME: home },
        encoding: 'utf8',
      });
    if (run('--version').trim() !== version) fail(`Node ${major}: the program says another version than ${version}`);
    if (!/exactly the original/.test(run('demo'))) fail(`Node ${major}: the demo did not give the original back`);
    run('report', '--sessions');
    say(`Node ${major}: installed, demo and report run`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folder of a Node of another version, as the npm package `node` brings it. */
function binOf(major, folder) {
  const place = join(folder, 'node');
  mkdirSync(place);
  npm(
    ['install', '--prefix', place, '--no-save', '--ignore-scripts=false', '--loglevel=error', `node@${major}`],
    place,
  );
  const packages = join(place, 'node_modules');
  // the package puts the binary into its own folder, or leaves it in one for the platform
  const found = readdirSync(packages).find((entry) => existsSync(join(packages, entry, 'bin/node')));
  if (found === undefined) fail(`no Node ${major} for this machine in the registry`);
  return join(packages, found, 'bin');
}

/** Of the lock file with its development dependencies: the libraries in dist/ are among them. */
function writeSbom() {
  const text = npm(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], root);
  writeFileSync(join(out, `${name}-${version}.cdx.json`), text);
}

function writeFormula(file) {
  const url = manifest.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  const values = {
    '@DESCRIPTION@': manifest.description,
    '@HOMEPAGE@': manifest.homepage,
    '@URL@': `${url}/releases/download/v${version}/${name}-${version}.tgz`,
    '@SHA256@': sha256(file),
  };
  let text = readFileSync(join(root, 'deploy/homebrew/mcp-pruner.rb'), 'utf8').replace(/^#.*\n/, '');
  for (const [mark, value] of Object.entries(values)) text = text.replaceAll(mark, value);
  writeFileSync(join(out, `${name}.rb`), text);
}

function writeChecksums() {
  const lines = readdirSync(out).map((file) => `${sha256(join(out, file))}  ${file}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function npm(args, cwd, env = process.env) {
  return execFileSync('npm', args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
  });
}
