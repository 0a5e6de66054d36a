import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goalFromMessage } from '../src/cases.ts';
import type { EvaluationReport } from '../src/report.ts';
import { sourceFile, TestRepository } from './git-fixture.ts';
import { runCommand } from './run-command.ts';

const run = (...args: string[]) => runCommand(['eval', ...args]);

describe('mcp-pruner eval', () => {
  const repo = new TestRepository();
  beforeAll(() => {
    const base = sourceFile(40);
    repo.commit('start', { 'app.py': base });
    const lines = base.split('\n');
    repo.commit('Let transform_20 see the context of its request', {
      'app.py': lines.toSpliced(8 * 20 + 5, 1, '        return transform_20(request, context)').join('\n'),
    });
  });
  afterAll(() => repo.remove());

  it('reports recall, saving and skill with the baselines of the same run', async () => {
    const { code, out, err } = await run('--git', repo.path);
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toContain('1 cases from 1 commits');
    for (const name of ['mcp-pruner', 'head+tail', 'grep', 'bm25', 'reference', 'oracle']) expect(out).toContain(name);
  });

  it('returns the same figures as JSON on every run, except the time', async () => {
    const report = async (): Promise<EvaluationReport> =>
      JSON.parse((await run('--git', repo.path, '--json', '--ratio', '0.5,0.8')).out);
    const first = await report();
    expect(first).toMatchObject({
      cases: 1,
      ratios: [0.5, 0.8],
      violations: 0,
      byType: [{ group: 'other', cases: 1 }],
    });
    expect(first.all.systems.find((s) => s.name === 'oracle')?.points.map((p) => p.recall)).toEqual([1, 1]);
    expect(first.msPerMb).toBeGreaterThan(0);
    expect({ ...(await report()), msPerMb: 0 }).toEqual({ ...first, msPerMb: 0 });
  });

  it('draws a progress bar on a terminal and removes it again', async () => {
    const { out, err } = await runCommand(['eval', '--git', repo.path], true);
    expect(err).toMatch(/^\r.*0\/300/);
    expect(err.endsWith('\r\x1b[K')).toBe(true);
    expect(out).not.toContain('\r');
  });

  it('exits with 2 for incorrect usage, and with 1 if there is nothing to measure', async () => {
    expect(await run('--git', '/proc')).toMatchObject({
      code: 1,
      err: 'mcp-pruner: not a git repository: /proc\n',
    });
    expect((await run()).code).toBe(2);
    expect((await run('--git', repo.path, '--ratio', '1.5')).code).toBe(2);
    expect((await run('--git', repo.path, '--cases', 'many')).err).toContain('--cases takes a whole number');
    expect((await run('--git', repo.path, '--nonsense')).code).toBe(2);
    expect(await run('--help')).toMatchObject({ code: 0, err: '' });
    const bare = new TestRepository();
    bare.commit('only', { 'a.py': 'x\n' });
    expect((await run('--git', bare.path)).err).toContain('no usable commit');
    bare.remove();
  });
});

describe('goalFromMessage', () => {
  it('drops trailers, URLs and issue numbers, and keeps the purpose of the change', () => {
    const message = [
      'Fixes: crash on an empty list (#4711)',
      '',
      'See #12 for the report. Closes nothing else.',
      'https://example.org/issues/12',
      '',
      '',
      'Closes #12',
      'Fixes gh-13',
      'Change-Id: I0123456789',
      'Co-authored-by: B <b@example.org>',
      '(cherry picked from commit 0123456789)',
    ].join('\n');
    expect(goalFromMessage(message)).toBe('Fixes: crash on an empty list');
    expect(goalFromMessage('parser: accept CRLF #7\n\nCloses: the gap between lines')).toBe(
      'parser: accept CRLF\n\nCloses: the gap between lines',
    );
  });
});
