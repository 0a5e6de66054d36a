// Runs a bench written in TypeScript: node bench/run.mjs <name> [options of the bench]; ../demo/team is run by it too.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from './load.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const [name = ''] = process.argv.splice(2, 1);
const entry = join(here, name, 'main.ts');
if (name === '' || !existsSync(entry)) {
  const names = readdirSync(here).filter((dir) => existsSync(join(here, dir, 'main.ts')));
  process.stderr.write(`usage: node bench/run.mjs <${names.join('|')}> [options]\n`);
  process.exit(2);
}
await load(entry);
