import { explainPlan } from '@mcp-pruner/why/explain.ts';
import { expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';
import type { PruneInput } from '../../../src/engine/types.ts';

/** Lines of a service's log, one of them a failure. */
const LOG = Array.from({ length: 210 }, (_, i) => {
  const shown = i === 133 ? 'ERROR orders gateway refused order 4711' : `INFO orders request ${i} took ${i % 17} ms`;
  return `2026-03-01 10:${String(Math.floor(i / 60)).padStart(2, '0')}:${String(i % 60).padStart(2, '0')} ${shown}`;
});

function inputOf(lines: readonly string[], command: string): PruneInput {
  const hints = { origin: 'search' as const, command };
  return { text: lines.join('\n'), goal: 'orders', hints, limits: { maxPruneRatio: 0.9, minKeepLines: 20 } };
}

const PREFIXES: Readonly<Record<string, (line: string, i: number) => string>> = {
  'numbers in front': (line, i) => `${3 * i + 1}:${line}`,
  'names and numbers in front': (line, i) => `logs/app-${Math.floor(i / 70)}.log:${i + 1}:${line}`,
  'lines around hits': (line, i) => (i % 3 === 0 ? `${i + 1}:${line}` : `${i + 1}-${line}`),
  'names alone in front': (line, i) => `logs/app.${Math.floor(i / 70)}:${line}`,
  'nothing in front': (line) => line,
};

for (const [what, prefix] of Object.entries(PREFIXES)) {
  it(`hits in a log, ${what}, are cut like log lines, and its failure stays`, () => {
    const lines = LOG.map(prefix);
    const { kind, cuts } = planPrune(inputOf(lines, 'grep -n orders app.log'));
    const gone = cuts.flatMap(({ startLine, endLine }) => lines.slice(startLine - 1, endLine));
    expect(['grepped-log', 'log']).toContain(kind);
    expect(gone.length).toBeGreaterThan(150);
    expect(gone.filter((line) => line.includes('ERROR'))).toEqual([]);
  });
}

it('one line of every log with hits stays', () => {
  const lines = LOG.map((line, i) => `logs/app-${Math.floor(i / 70)}.log:${i + 1}:${line}`);
  const { regions } = explainPlan(inputOf(lines, 'grep -rn orders logs'));
  const spread = regions.filter(({ rule }) => rule === 'file-spread').map(({ startLine }) => startLine);
  expect(spread).toEqual([71, 141]); // the first one is the text's own first line
});

it('search hits in code are treated as hits, not as log lines', () => {
  const lines = LOG.map((_, i) => `src/a${Math.floor(i / 30)}.ts:${i + 1}:  retry(order${i}, ${i % 7});`);
  expect(planPrune(inputOf(lines, 'grep -rn orders src')).kind).toBe('grep');
});
