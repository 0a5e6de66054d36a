import { explainPlan } from '@mcp-pruner/why/explain.ts';
import { expect, it } from 'vitest';
import { goalTerms } from '../../src/engine/goal/terms.ts';
import type { Hints } from '../../src/engine/types.ts';

const LISTING = Array.from({ length: 200 }, (_, i) => {
  if (i === 120) return 'node_modules/better-sqlite3/lib/database.js';
  return i % 4 === 0 ? `node_modules/better-word-${i}/index.js` : `node_modules/sqlite3/part-${i}.js`;
});

function rulesOf(lines: readonly string[], goal: string, hints: Hints): Map<number, string> {
  const limits = { maxPruneRatio: 0.9, minKeepLines: 5 };
  const { regions } = explainPlan({ text: lines.join('\n'), goal, hints, limits });
  return new Map(
    regions.flatMap(({ startLine, endLine, kept, rule }) =>
      Array.from({ length: endLine - startLine + 1 }, (_, i): [number, string] => [
        startLine + i,
        kept ? rule || 'kept' : '',
      ]),
    ),
  );
}

it('a hyphenated name is one term: its parts do not count elsewhere in a listing', () => {
  const rules = rulesOf(LISTING, 'Is better-sqlite3 installed?', { origin: 'listing', command: 'find node_modules' });
  expect(rules.get(121)).toBe('named');
  expect([...rules.values()].filter((rule) => rule !== '').length).toBeLessThan(40);
});

it('the parts of a name count as words if the text does not contain the whole name', () => {
  const others = LISTING.filter((line) => !line.includes('better-sqlite3'));
  const rules = rulesOf(others, 'Is better-sqlite3 installed?', { origin: 'listing', command: 'find node_modules' });
  expect(others.some((line, i) => line.includes('better') && rules.get(i + 1) === 'kept')).toBe(true);
});

it('a line with an identifier from the goal stays if the identifier is rare in the text', () => {
  const code = Array.from({ length: 300 }, (_, i) =>
    i === 171 ? '    total += retry_budget' : `    total += step(${i})`,
  );
  const asked = rulesOf(['def run():', ...code], 'what is `retry_budget` added to?', { origin: 'command' });
  expect(asked.get(173)).toBe('named');
  expect(rulesOf(['def run():', ...code], 'what is added?', { origin: 'command' }).get(173)).not.toBe('named');
});

it('a unique line stays in a repetitive log, whatever the goal', () => {
  const log = Array.from({ length: 300 }, (_, i) => `2026-03-01 10:00:00 INFO request ${i} served in ${i % 9} ms`);
  log[210] = '2026-03-01 10:00:00 INFO leader election: this node follows node-3 now';
  expect(rulesOf(log, 'why are requests slow', { origin: 'command', command: 'cat app.log' }).get(211)).toBe('news');
});

it('a verb at the beginning of a sentence is not a goal term, but the same word later in it is', () => {
  expect(goalTerms('Read the manifest\n- open the reader').map(({ word }) => word)).toEqual(['manifest', 'reader']);
  expect(goalTerms('when is the manifest open').map(({ word }) => word)).toContain('open');
});
