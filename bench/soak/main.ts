// Faults that take too long, or too much of a machine, for every run of the tests. Needs a build:
//   npm run build && node bench/run.mjs soak [--only kills,locked,fleet,fleetOnPostgres] [--kills 100] [--seed 1]
// Prints one line for each trial; the exit code is 1 when one of them failed.
import { parseArgs } from 'node:util';
import { trials } from './trials.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    only: { type: 'string', default: Object.keys(trials).join(',') },
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
});
const plan = { kills: Number(values.kills), seed: Number(values.seed) };
let failed = false;
for (const name of values.only.split(',')) {
  const trial = trials[name];
  if (!trial) throw new Error(`no trial ${name}: ${Object.keys(trials).join(', ')}`);
  const { passed, says } = await trial(plan);
  process.stdout.write(`${passed ? 'ok    ' : 'FAILED'} ${name}: ${says}\n`);
  failed ||= !passed;
}
process.exitCode = failed ? 1 : 0;
