import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// a bench is bundled into a folder of its own, and its loader names the project
const root = process.env.MCP_PRUNER_BENCH_ROOT ?? fileURLToPath(new URL('..', import.meta.url));
const packages = readdirSync(join(root, 'packages'));

/** Folder of sources by package name, as in the paths of tsconfig.json. */
export const aliases = {
  'mcp-pruner': join(root, 'src'),
  ...Object.fromEntries(packages.map((name) => [`@mcp-pruner/${name}`, join(root, 'packages', name, 'src')])),
};

/** Folders of sources, relative to the project. */
export const sourceFolders = ['src', ...packages.map((name) => `packages/${name}/src`)];
