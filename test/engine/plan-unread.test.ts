import { expect, it } from 'vitest';
import { decide } from '../../src/core/decide/decision.ts';
import { planPrune } from '../../src/engine/plan.ts';

const text = 'x\n'.repeat(60_000);
const limits = { maxPruneRatio: 0.9, minKeepLines: 5 };

it('a nearly blank text is left whole without analysis', () => {
  expect(planPrune({ text, goal: 'x', limits })).toMatchObject({
    kind: 'unknown',
    lineCount: 60_000,
    cuts: [],
    warnings: [],
  });
});

it('counting lines past the deadline is reported as a timeout, and the text stays whole', () => {
  const late = planPrune({ text, goal: 'x', limits, shouldStop: () => true });
  expect(late).toMatchObject({ cuts: [], warnings: ['timeout'] });
  const job = {
    text,
    textHash: 'h',
    goal: 'x',
    hints: { origin: 'unknown' as const },
    limits,
    tool: '',
    caller: 'call' as const,
  };
  expect(decide(job, 'key', () => true)).toMatchObject({ whole: 'timeout', warnings: ['timeout'] });
});
