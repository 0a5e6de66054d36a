import { describe, expect, it } from 'vitest';
import { editFailed, isCorrection, isEdit, isTestRun, testOutcome } from '../../../src/wires/transcript/work-signs.ts';

const call = (name: string, args: unknown) => ({ name, args: typeof args === 'string' ? args : JSON.stringify(args) });
const shell = (command: unknown) => call('Bash', { command });

describe('an edit', () => {
  it.each([
    call('Edit', { file_path: 'a.ts', old_string: 'a', new_string: 'b' }),
    call('MultiEdit', { file_path: 'a.ts', edits: [] }),
    call('str_replace_based_edit_tool', { command: 'str_replace', path: 'a.ts', old_str: 'a' }),
    call('apply_patch', '*** Begin Patch\n*** End Patch'),
    shell(['bash', '-lc', "apply_patch <<'EOF'\n*** Begin Patch\nEOF"]),
    call('replace_in_file', { path: 'a.ts', diff: '<<<<<<< SEARCH' }),
  ])('is the call $name', (edit) => expect(isEdit(edit)).toBe(true));

  it.each([
    call('Read', { file_path: 'a.ts' }),
    call('str_replace_based_edit_tool', { command: 'view', path: 'a.ts' }),
    call('Write', { file_path: 'a.ts', content: 'x' }),
    call('TodoWrite', { todos: [] }),
    call('credit_report', {}),
  ])('is not the call $name', (other) => expect(isEdit(other)).toBe(false));

  it.each([
    '<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>',
    'Found 2 matches of the string to replace, but replace_all is false.',
    'File has not been read yet. Read it first before writing to it.',
    'apply_patch verification failed: Failed to find expected lines in a.ts',
    'oldString not found in content',
    'No replacement was performed, old_str `a` did not appear verbatim in a.ts.',
    'Failed to edit, 0 occurrences found for old_string',
  ])('failed if its tool answers %s', (answer) => expect(editFailed(answer)).toBe(true));

  it.each([
    "The file /a/b.ts has been updated. Here's the result of running `cat -n`:\n 1\tthrow new Error('not found in file')",
    'Success. Updated the following files:\nM a.ts',
    'Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:',
  ])('was applied if its tool answers %s', (answer) => expect(editFailed(answer)).toBe(false));
});

describe('a test run', () => {
  it.each([
    'npm test',
    'cd app && npm run test:unit -- --watch=false | tail -20',
    'CI=1 npx vitest run test/a.test.ts 2>&1 | tail',
    'python -m pytest -q tests',
    '.venv/bin/pytest',
    'go test ./...',
    'cargo test -p core',
    './gradlew :app:test',
    'timeout 60 node --test',
    'bash -lc "npm test"',
    'make check',
  ])('is %s', (command) => expect(isTestRun(shell(command))).toBe(true));

  it.each(['cat test/a.test.ts', 'git commit -m "npm test"', 'ls tests', 'grep -rn vitest src', 'npm install'])(
    'is not %s',
    (command) => expect(isTestRun(shell(command))).toBe(false),
  );

  it.each([
    [' Tests  2 failed | 14 passed (16)', 'red'],
    ['=== 1 failed, 3 passed in 0.2s ===', 'red'],
    ['--- FAIL: TestA (0.00s)\nFAIL', 'red'],
    ['Process exited with code 1', 'red'],
    ['test result: FAILED. 3 passed; 1 failed', 'red'],
    [' Tests  16 passed (16)', 'green'],
    ['ok  \tgithub.com/a/b\t0.2s', 'green'],
    ['test result: ok. 3 passed; 0 failed; 0 ignored', 'green'],
    ['Ran 3 tests in 0.1s\n\nOK', 'green'],
    ['12 examples, 0 failures', 'green'],
    ['# tests 3\n# pass 3\n# fail 0', 'green'],
    ['npm error Missing script', null],
  ])('that prints %j is %s', (output, outcome) => expect(testOutcome(output)).toBe(outcome));
});

describe('a correction', () => {
  it.each([
    'No, the other file.',
    'that is wrong, use the old name',
    "It still doesn't work",
    'you forgot the migration',
    'please revert that',
    "That's not what I asked for",
  ])('is %s', (words) => expect(isCorrection(words)).toBe(true));

  it.each(['go on', 'no problem, thanks', 'now add a test', 'Explain why there is no cache'])('is not %s', (words) =>
    expect(isCorrection(words)).toBe(false),
  );

  it('is never a long message, which is a separate task', () => {
    expect(isCorrection(`No, ${'x'.repeat(2_000)}`)).toBe(false);
  });
});
