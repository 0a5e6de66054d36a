import { describe, expect, it } from 'vitest';
import { pruned } from './helpers.ts';
import { githubActionsLog } from './samples.ts';

describe('a GitHub Actions log', () => {
  const stamp = /^(?:[^\t]*\t[^\t]*\t)?\S+Z ?/;
  it.each([
    ['as the runner stores it', ''],
    ['as gh prints it, with job and step', 'build\tRun tests\t'],
  ])('%s is a log whose failing step, error and test details stay', (_how, prefix) => {
    const { kind, kept, cut } = pruned(githubActionsLog(prefix), 'Why is the build red?');
    expect(['test-run', 'log']).toContain(kind);
    const said = kept.map((line) => line.replace(stamp, ''));
    expect(said).toContain('##[group]Run npm test');
    expect(said).toContain('##[error]Process completed with exit code 1.');
    expect(said).toContain('not ok 77 - refunds the voucher');
    expect(said).toContain('    at refund (/home/runner/work/shop/src/refund.js:12:7)');
    expect(said).toContain('# fail 1');
    expect(cut.length).toBeGreaterThan(200);
    expect(cut.filter((line) => /##\[error\]|not ok/.test(line))).toEqual([]);
  });
});
