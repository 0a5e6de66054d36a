import { UserError } from 'mcp-pruner/errors/errors.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EvalCase, neededLines, SampleReport, sampleCases } from '../src/cases.ts';
import { openRepository } from '../src/git.ts';
import { sourceFile, TestRepository } from './git-fixture.ts';

const OPTIONS = { cases: 100, seed: 1, maxFiles: 3 };

async function sample(
  path: string,
  options: Partial<typeof OPTIONS> = {},
): Promise<{ cases: EvalCase[]; report: SampleReport }> {
  const report = new SampleReport();
  const cases: EvalCase[] = [];
  for await (const item of sampleCases(await openRepository(path), { ...OPTIONS, ...options }, report))
    cases.push(item);
  return { cases, report };
}

describe('cases from the history of a repository', () => {
  const repo = new TestRepository();
  /** All cases; reading the history starts a process of git for each commit. */
  let all: ReturnType<typeof sample>;
  const base = sourceFile(30);
  const lines = base.split('\n');

  beforeAll(() => {
    repo.commit('start', { 'app.py': base, 'small.py': 'x = 1\n', 'data.bin': Buffer.alloc(9000) });
    const edited = lines.toSpliced(10, 1, '    value_1 = compute_better(1)');
    repo.commit('Compute the value of handle_1 better\n\nIt was wrong (#12).\n\nSigned-off-by: A <a@example.org>', {
      'app.py': edited.join('\n'),
    });
    const inserted = edited.toSpliced(100, 0, '    audit(request)');
    repo.commit('Audit every request in handle_12', { 'app.py': inserted.join('\n'), 'small.py': 'x = 2\n' });
    const indented = inserted.map((line) => line.replace(/^ {4}/, '\t'));
    repo.commit('Indent with tabs everywhere', { 'app.py': indented.join('\n') });
    repo.commit('fix', { 'app.py': indented.toSpliced(20, 1, '\tchanged = True').join('\n') });
    const rewritten = sourceFile(31, (n) => `other_${n} = wholly_different(${n})`).replaceAll('handle', 'serve');
    repo.commit('Rewrite the request handlers', { 'app.py': rewritten });
    const many = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.py`, base]));
    repo.commit('Add four modules', many);
    repo.commit('Rename compute in four modules', {
      ...Object.fromEntries(
        Object.entries(many).map(([name, text]) => [name, text.replace('compute(3)', 'reckon(3)')]),
      ),
    });
    repo.commit('Grow the binary table', { 'data.bin': Buffer.alloc(9500) });
    repo.git('checkout', '-q', '-b', 'side', 'HEAD~1');
    repo.commit('Describe the handlers in the notes', { 'notes.txt': 'x' });
    repo.git('checkout', '-q', 'main');
    repo.git('merge', '-q', '--no-edit', 'side');
    all = sample(repo.path);
  });
  afterAll(() => repo.remove());

  it('use the commit message as goal, the previous file as text, and the changed lines as needed lines', async () => {
    const { cases } = await all;
    const edit = cases.find((item) => item.goal.startsWith('Compute'));
    expect(edit).toMatchObject({ path: 'app.py', group: 'py', sourceType: 'code', text: base, needed: [11] });
    expect(edit?.goal).toBe('Compute the value of handle_1 better\n\nIt was wrong.');
  });

  it('mark the lines before and after a pure insertion as needed', async () => {
    const { cases } = await all;
    expect(cases.find((item) => item.goal.startsWith('Audit'))?.needed).toEqual([100, 101]);
  });

  it('leave out merges, formatting, mass edits, empty messages, tiny and binary files, and count each', async () => {
    const { cases, report } = await all;
    expect(cases.map((item) => item.goal.split(' ')[0]).sort()).toEqual(['Audit', 'Compute']);
    expect(Object.fromEntries(report.skipped)).toMatchObject({
      merge: 1,
      tiny: 1,
      binary: 1,
      'formatting only': 1,
      'no goal in the message': 1,
      'mass edit: too many files': 1,
      'mass edit: over half of the lines': 1,
      'no changed text file': 2,
    });
    expect(report.commitsUsed).toBe(2);
  });

  it('are the same for the same seed, and from a bare repository', async () => {
    const ids = async (path: string, seed: number): Promise<string[]> =>
      (await sample(path, { seed })).cases.map((item) => item.id);
    const first = (await all).cases.map((item) => item.id);
    expect(await ids(repo.bare(), 1)).toEqual(first);
    const others = await Promise.all([2, 3, 4, 5].map((seed) => ids(repo.path, seed)));
    expect(others.map((order) => order.join())).not.toEqual(others.map(() => first.join()));
  });

  it('are limited to the requested number', async () => {
    expect((await sample(repo.path, { cases: 1 })).cases).toHaveLength(1);
  });

  it('cause an error if the repository is missing or has no commits', async () => {
    await expect(openRepository('/proc')).rejects.toThrow(new UserError('not a git repository: /proc'));
    const empty = new TestRepository();
    await expect(openRepository(empty.path)).rejects.toThrow(/has no commit/);
    empty.remove();
  });
});

describe('neededLines', () => {
  it('stays within the text for insertions at its start or end', () => {
    expect(neededLines([{ start: 0, count: 0 }], 5)).toEqual([1]);
    expect(neededLines([{ start: 5, count: 0 }], 5)).toEqual([5]);
    const overlapping = [
      { start: 2, count: 2 },
      { start: 3, count: 0 },
    ];
    expect(neededLines(overlapping, 5)).toEqual([2, 3, 4]);
  });
});
