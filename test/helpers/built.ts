import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceFolders } from '../../build/aliases.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Inside node_modules, so that the program finds its dependencies. */
const cache = join(root, 'node_modules', '.cache', 'mcp-pruner-test');
const KEPT = 3;

/** Stands for the sources as they are now. */
function version(): string {
  const hash = createHash('sha256');
  for (const folder of [...sourceFolders, 'config'])
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      const { mtimeMs, size } = statSync(join(root, folder, file));
      hash.update(`${file} ${mtimeMs} ${size}\n`);
    }
  return hash.digest('hex').slice(0, 16);
}

let folder = '';

/** Path of the built program that does not warm up. For tests in which that does not matter. */
export const coldProgram = (): string => compiled('cold.js');

/**
 * Path of a file of the built program, built from the sources as they were when a test file first asked, unless
 * that was done before. Several test files may ask at the same time.
 */
export function compiled(file: string): string {
  folder ||= join(cache, version());
  if (!existsSync(folder)) compileInto(folder);
  return join(folder, 'dist', file);
}

function compileInto(target: string): void {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  if (isBuilt()) cpSync(join(root, 'dist'), join(draft, 'dist'), { recursive: true });
  else execFileSync(process.execPath, [join(root, 'build/build.mjs'), join(draft, 'dist')], { cwd: root });
  copyFileSync(join(root, 'package.json'), join(draft, 'package.json'));
  cpSync(join(root, 'config'), join(draft, 'config'), { recursive: true });
  addColdStart(join(draft, 'dist'));
  try {
    renameSync(draft, target);
  } catch {
    rmSync(draft, { recursive: true, force: true }); // another test file was faster
  }
  forgetOld();
}

/** Whether dist/ was built after the last change of what it is built from, as `npm test` does. */
function isBuilt(): boolean {
  const stamp = join(root, 'dist', 'sources.sha256');
  if (!existsSync(stamp)) return false;
  const builtMs = statSync(stamp).mtimeMs;
  const folders = [...sourceFolders, 'build'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  return ['package.json', 'package-lock.json', ...folders].every(
    (file) => statSync(join(root, file)).mtimeMs < builtMs,
  );
}

/**
 * Adds `cold.js`: the program without the warm-up of its servers, which is half of the CPU time of a start and of use
 * only to a server that lives on.
 */
function addColdStart(dist: string): void {
  const [, program] =
    /import\(["'`](\.\/parts\/program-[^"'`]+)["'`]\)/.exec(readFileSync(join(dist, 'cli.js'), 'utf8')) ?? [];
  const start = `await runProgram(new URL('../package.json', import.meta.url), { warmsUp: false });`;
  writeFileSync(join(dist, 'cold.js'), `import { runProgram } from '${program}';\n${start}\n`);
}

function forgetOld(): void {
  const byAge = readdirSync(cache)
    .map((name) => join(cache, name))
    .filter((path) => existsSync(path))
    .map((path) => ({ path, mtimeMs: statSync(path).mtimeMs }))
    .toSorted((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { path } of byAge.slice(KEPT)) rmSync(path, { recursive: true, force: true });
}
