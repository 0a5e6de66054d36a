import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { aliases } from '../build/aliases.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Imports a module written in TypeScript. It is bundled first with rolldown (which comes with vitest), since Node 20 cannot run
 * TypeScript.
 *
 * @param {string} entry - its path
 */
export async function load(entry) {
  // two levels below the root, like the program: from there it finds the folder `config`
  const outDir = join(root, 'node_modules', '.mcp-pruner-bench');
  await mkdir(outDir, { recursive: true });
  const file = join(outDir, `${basename(dirname(entry))}-${basename(entry, '.ts')}-${process.pid}.mjs`);
  const bundle = await rolldown({
    input: entry,
    platform: 'node',
    resolve: { alias: aliases },
    external: (id) => !/^(?:[./]|@?mcp-pruner\/)/.test(id),
    logLevel: 'silent',
  });
  await bundle.write({ file, format: 'esm', sourcemap: 'inline', codeSplitting: false });
  await bundle.close();
  process.env.MCP_PRUNER_BENCH_ROOT ??= root;
  try {
    return await import(pathToFileURL(file).href);
  } finally {
    await rm(file, { force: true });
  }
}
