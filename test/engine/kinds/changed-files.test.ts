import { expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';

const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };
const names = Array.from({ length: 30 }, (_, i) => `packages/part-${i}/src/issuer.ts`);
const hunks = names.flatMap((name, i) => [
  `diff --git a/${name} b/${name}`,
  `--- a/${name}`,
  `+++ b/${name}`,
  `@@ -${i + 1},20 +${i + 1},20 @@`,
  ...Array.from({ length: 20 }, (_, k) => `${'+- '[k % 3]}  const value${k} = step(${i}, 'text of ${k}');`),
]);

function keptOf(lines: readonly string[], command: string): string[] {
  const hints = { origin: 'command', command } as const;
  const { cuts } = planPrune({ text: lines.join('\n'), goal: 'why is the token refused?', limits: LIMITS, hints });
  expect(cuts.length).toBeGreaterThan(0);
  return lines.filter((_, i) => !cuts.some(({ startLine, endLine }) => i + 1 >= startLine && i < endLine));
}

it.each([
  ['--name-only', (name: string) => name],
  ['--name-status', (name: string) => `M\t${name}`],
  ['--stat', (name: string) => ` ${name} | 12 ++++--`],
])('the list of changed files that git prints before a diff stays: %s', (option, line) => {
  const listed = names.map(line);
  expect(keptOf([...listed, ...hunks], `git diff ${option} HEAD && git diff HEAD`)).toEqual(
    expect.arrayContaining(listed),
  );
});

it('the first sixty entries of a long list of changed files stay', () => {
  const many = Array.from({ length: 300 }, (_, i) => ` src/folder-${i % 7}/module-${i}.ts | ${i} +-`);
  const kept = keptOf([...many, ...hunks], 'git diff --stat HEAD && git diff HEAD');
  expect(kept).toEqual(expect.arrayContaining(many.slice(0, 60)));
  expect(kept).not.toEqual(expect.arrayContaining(many));
});
