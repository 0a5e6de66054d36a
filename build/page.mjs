// node build/page.mjs [folder]
// Makes the page: dist/page/, or that folder. One script, one style sheet, one picture, and nothing from anywhere else.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { aliases } from './aliases.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ui = (path) => join(root, 'packages/page/src/ui', path);

/**
 * Builds the page into a folder.
 *
 * @param {string} out
 * @returns {Promise<readonly string[]>} the modules that went in
 */
export async function buildPage(out) {
  const bundle = await rolldown({
    cwd: root,
    input: join(root, 'src/page.tsx'),
    platform: 'browser',
    tsconfig: ui('tsconfig.json'),
    resolve: { alias: aliases },
    transform: { target: 'es2022' },
    logLevel: 'warn',
  });
  const { output } = await bundle.write({ file: join(out, 'app.js'), format: 'esm', minify: true });
  await bundle.close();
  mkdirSync(out, { recursive: true });
  const styles = [join(root, 'node_modules/uplot/dist/uPlot.min.css'), ui('style.css')];
  writeFileSync(join(out, 'style.css'), styles.map((path) => readFileSync(path, 'utf8')).join('\n'));
  for (const file of ['index.html', 'icon.svg']) copyFileSync(ui(file), join(out, file));
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

if (argv[1] === fileURLToPath(import.meta.url)) await buildPage(resolve(argv[2] ?? join(root, 'dist/page')));
