import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planOf } from '../../bench/conformance/plan.ts';
import { runPlan } from '../../bench/conformance/run.ts';
import { OwnTarget } from '../../bench/conformance/target.ts';
import type { Plan } from '../../bench/conformance/types.ts';
import { compiled } from '../helpers/built.ts';
import { projectRoot } from '../helpers/project-files.ts';

// seed 2001 of `--agents 10 --turns 40`, shrunk: a thread is replayed while files cannot grow, after a restart
it.each(['full-disk'])(
  'the proxy keeps sent bytes unchanged in a conformance plan that once failed: %s',
  async (name) => {
    const plan = JSON.parse(readFileSync(join(projectRoot, `test/bench/plans/${name}.json`), 'utf8')) as Plan;
    const outcome = await runPlan(plan, async ({ origin }) => {
      return new OwnTarget({ programs: [compiled('cli.js')], upstream: origin, database: null });
    });
    expect(outcome).toMatchObject({ breaks: [], failed: [], lost: [] });
  },
  240_000,
);

it('in the conformance kit, the provider summarises finished work, and the proxy is killed meanwhile', async () => {
  const plan = planOf(3, { agents: 4, turns: 30, hasControl: true, seams: true });
  const steps = [...plan.steps, { kind: 'kill-summary' as const, agent: 0, seed: 1 }];
  const outcome = await runPlan({ ...plan, steps }, async ({ origin }) => {
    return new OwnTarget({ programs: [compiled('cli.js')], upstream: origin, database: null });
  });
  expect(outcome.swapped).toBeGreaterThan(0);
  expect(outcome).toMatchObject({ breaks: [], failed: [], lost: [] });
}, 600_000);
