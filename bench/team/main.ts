// Several replicas on one PostgreSQL while everything happens to them that may. Needs a build:
//   npm run build && node bench/run.mjs team [--only race,killed] [--seed 1] [--conversations 200] [--turns 6] [--old folder]
// `--old` is a folder with an earlier build (its dist), which the upgrade begins with. disk-full needs root, pooler PgBouncer.
// Prints one line for each trial; the exit code is 1 when one of them failed.
import { parseArgs } from 'node:util';
import { trials } from './trials.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    only: { type: 'string', default: Object.keys(trials).join(',') },
    seed: { type: 'string', default: '1' },
    conversations: { type: 'string', default: '200' },
    turns: { type: 'string', default: '6' },
    old: { type: 'string', default: process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd() },
  },
});
const plan = {
  seed: Number(values.seed),
  conversations: Number(values.conversations),
  turns: Number(values.turns),
  old: values.old,
};
let failed = false;
for (const name of values.only.split(',')) {
  const trial = trials[name];
  if (!trial) throw new Error(`no trial ${name}: ${Object.keys(trials).join(', ')}`);
  const { passed, says } = await trial(plan);
  process.stdout.write(`${passed ? 'ok    ' : 'FAILED'} ${name}: ${says}\n`);
  failed ||= !passed;
}
process.exitCode = failed ? 1 : 0;
