/**
 * Whether plans and forwarded bodies are those that were recorded: node bench/run.mjs golden [--write]
 *
 * Prints a line for each case that differs, recorded -> now. With --write the hashes are recorded anew first, and what is
 * printed is what was recorded before against what is now.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
const root = process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();
const file = join(root, 'test', 'golden', 'hashes.json');

type Cases = Readonly<Record<string, string>>;
const read = (): Cases => (JSON.parse(readFileSync(file, 'utf8')) as { cases: Cases }).cases;
const run = (): number | null =>
  spawnSync(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', 'test/golden'], {
    cwd: root,
    stdio: values.write ? 'ignore' : 'inherit',
    env: { ...process.env, MCP_PRUNER_GOLDEN: values.write ? 'write' : '' },
  }).status;

const before = read();
const status = run();
if (values.write) {
  const now = read();
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) => before[name] !== now[name],
  );
  for (const name of names) process.stdout.write(`${name}: ${before[name] ?? 'new'} -> ${now[name] ?? 'gone'}\n`);
  process.stdout.write(`${names.length} of ${Object.keys(now).length} cases recorded anew\n`);
}
process.exitCode = status ?? 1;
