import { expect, it } from 'vitest';
import { pruned } from './helpers.ts';
import { klogLog } from './samples.ts';

it('klog output is a log: failures stay although no word reports them, routine lines are cut', () => {
  const { kind, kept, cut } = pruned(klogLog(), 'What happened to the pods?');
  expect(kind).toBe('log');
  expect(kept.filter((line) => line.startsWith('E0302'))).toHaveLength(1);
  expect(cut.length).toBeGreaterThan(200);
  expect(cut.filter((line) => !line.startsWith('W') && !line.includes('is in sync'))).toEqual([]);
});
