import { expect, it } from 'vitest';
import { pruned } from './helpers.ts';
import { logfmtLog } from './samples.ts';

it('logfmt output is a log: a line at level fatal stays although its message reports no failure', () => {
  const { kind, kept, cut } = pruned(logfmtLog(), 'why do requests wait');
  expect(kind).toBe('log');
  expect(kept.filter((line) => line.includes('level=fatal'))).toHaveLength(1);
  expect(cut.length).toBeGreaterThan(200);
});
