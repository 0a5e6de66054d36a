import { planPrune } from 'mcp-pruner/engine/plan.ts';
import type { PruneInput } from 'mcp-pruner/engine/types.ts';
import { describe, expect, it } from 'vitest';
import { explainPlan } from '../src/explain.ts';

const functions = Array.from({ length: 40 }, (_, k) =>
  [
    `def ${k === 17 ? 'retry_after_timeout' : `helper_${k}`}(value):`,
    ...Array.from({ length: 12 }, (_, j) => `    step_${k}_${j} = value.compute_${(k * 7 + j) % 13}(${j}, "${k}")`),
    `    return ${k === 17 ? 'retry timeout' : `step_${k}_0`}`,
    '',
  ].join('\n'),
).join('\n');
const input: PruneInput = {
  text: `"""Helpers."""\nimport os\n\n${functions}`,
  goal: 'retry_after_timeout ignores the retry timeout',
  sourceType: 'code',
  limits: { maxPruneRatio: 0.9, minKeepLines: 10 },
};

describe('explainPlan', () => {
  it('explains the same plan that planPrune makes', () => {
    expect(explainPlan(input).plan).toEqual(planPrune(input));
    expect(explainPlan(input).plan.cuts.length).toBeGreaterThan(0);
  });

  it('covers every line once, with the same cuts as the plan', () => {
    const { plan, regions } = explainPlan(input);
    let next = 1;
    for (const { startLine, endLine } of regions) {
      expect(startLine).toBe(next);
      next = endLine + 1;
    }
    expect(next).toBe(plan.lineCount + 1);
    const cut = regions.filter(({ kept }) => !kept).map(({ startLine, endLine }) => [startLine, endLine]);
    expect(cut).toEqual(plan.cuts.map(({ startLine, endLine }) => [startLine, endLine]));
  });

  it('names the rule or the goal words that keep a line', () => {
    const { regions, terms, threshold } = explainPlan(input);
    expect(regions.find(({ startLine, endLine }) => startLine <= 2 && endLine >= 2)).toMatchObject({
      kept: true,
      because: 'rule',
      rule: 'import',
    });
    const relevant = regions.filter(({ because }) => because === 'relevance');
    expect(relevant.some((region) => region.terms.includes('timeout') && region.worth > threshold)).toBe(true);
    expect(terms).toContain('timeout');
    for (const region of regions.filter(({ because }) => because === 'noise')) {
      expect(region.worth).toBeLessThan(threshold);
    }
  });

  it('never reports a valuable region as noise, nor as kept by the limits', () => {
    const log = Array.from({ length: 300 }, (_, i) =>
      i === 180 ? 'ERROR payment 77 failed: cannot read total' : `INFO GET /v1/items/${i % 9} 200 ${i % 7}ms`,
    ).join('\n');
    const { regions, threshold } = explainPlan({
      text: log,
      goal: 'find the failing payment',
      limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
    });
    for (const { because, worth } of regions) {
      if (because === 'noise' || because === 'budget' || because === 'marker') expect(worth).toBeLessThan(threshold);
    }
    expect(regions.map(({ because }) => because)).toContain('relevance');
  });

  it('reports that a text is left whole if all cuts save too little', () => {
    const { plan, regions } = explainPlan({
      ...input,
      text: 'a\nb\nc\nd',
      limits: { maxPruneRatio: 0.75, minKeepLines: 1 },
    });
    expect(plan).toMatchObject({ cuts: [], warnings: [] });
    expect(regions.every(({ kept }) => kept)).toBe(true);
  });
});
