// Runs a bench written in TypeScript: node bench/run.mjs <name> [options of the bench]; ../demo/team is run by it too.
// Bundled first with rolldown (it comes with vitest), since Node 20 cannot run TypeScript.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const [name = ''] = process.argv.splice(2, 1);
const entry = join(here, name, 'main.ts');
if (name === '' || !existsSync(entry)) {
  const names = readdirSync(here).filter((dir) => existsSync(join(here, dir, 'main.ts')));
  process.stderr.write(`usage: node bench/run.mjs <${names.join('|')}> [options]\n`);
  process.exit(2);
}
const outDir = join(root, 'node_modules', '.cache', 'mcp-pruner-bench');
await mkdir(outDir, { recursive: true });
const file = join(outDir, `${basename(name)}-${process.pid}.mjs`);
const bundle = await rolldown({
  input: entry,
  platform: 'node',
  external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  logLevel: 'silent',
});
await bundle.write({ file, format: 'esm', sourcemap: 'inline', codeSplitting: false });
await bundle.close();
process.env.MCP_PRUNER_BENCH_ROOT ??= root;
try {
  await import(pathToFileURL(file).href);
} finally {
  const { rm } = await import('node:fs/promises');
  await rm(file, { force: true });
}
