// Several replicas on one PostgreSQL while everything happens to them that may. Needs a build:
//   npm run build && node bench/run.mjs team [--only race] [--seed 1] [--conversations 200] [--turns 6]
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
  },
});
const plan = {
  seed: Number(values.seed),
  conversations: Number(values.conversations),
  turns: Number(values.turns),
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
