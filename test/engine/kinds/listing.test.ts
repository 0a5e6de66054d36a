import { expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';

/** `ls -R` of forty folders of eight files each; one folder holds what a goal may name. */
function listed(): string {
  return Array.from({ length: 40 }, (_, k) => {
    const files = Array.from({ length: 8 }, (_, i) => (k === 23 && i === 5 ? 'invoice-tax.ts' : `part-${k}-${i}.ts`));
    return [`./src/area${k}:`, ...files, ''].join('\n');
  }).join('\n');
}

function keptFor(goal: string): string[] {
  const text = listed();
  const hints = { origin: 'listing' as const, command: 'ls -R' };
  const { cuts } = planPrune({ text, goal, hints, limits: { maxPruneRatio: 0.9, minKeepLines: 5 } });
  const gone = new Set(
    cuts.flatMap(({ startLine, endLine }) => [...Array(endLine - startLine + 1)].map((_, i) => startLine + i)),
  );
  return text.split('\n').filter((_, i) => !gone.has(i + 1));
}

it('irrelevant folders of a listing are cut with their entries', () => {
  const kept = keptFor('where is invoice-tax');
  expect(kept).toContain('invoice-tax.ts');
  expect(kept.filter((line) => line.startsWith('./src/')).length).toBeLessThan(10);
});

it('the folder that contains a requested file stays with it', () => {
  expect(keptFor('where is invoice-tax')).toContain('./src/area23:');
});

it('entries of a requested folder are kept in preference to entries of other folders', () => {
  const kept = keptFor('what is in area31?');
  expect(kept).toContain('./src/area31:');
  expect(kept.filter((line) => line.startsWith('part-31-'))).toHaveLength(8);
});
