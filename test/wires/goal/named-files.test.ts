import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namesFile } from '../../../src/wires/goal/named-files.ts';

describe('a file is named', () => {
  it('by its path, by its bare name, and by the words of its name', () => {
    expect(namesFile('please fix src/auth/login.ts', '/repo/src/auth/login.ts')).toBe(true);
    expect(namesFile('what does LOGIN.TS do?', 'src/auth/login.ts')).toBe(true);
    expect(namesFile('Go on with the security review.', 'docs/security-review.md')).toBe(true);
    expect(namesFile('the conversation store leaks', 'src/conversationStore.ts')).toBe(true);
  });

  it('not by part of another name, by a single word of its own name, or by another folder', () => {
    expect(namesFile('see my-login.ts and login.tsx', 'src/login.ts')).toBe(false);
    expect(namesFile('the parser is slow', 'src/parser.ts')).toBe(false);
    expect(namesFile('look at test/index.ts', 'src/index.ts')).toBe(false);
    expect(namesFile('run the test', 'src/test')).toBe(false);
  });

  it('whatever surrounds its path', () => {
    const path = fc.constantFrom('src/a-file.ts', 'lib/deep/name.py', 'README.md');
    const word = fc.stringMatching(/^[a-z]{0,8}$/);
    fc.assert(
      fc.property(path, word, word, (file, a, b) => {
        expect(namesFile(`${a} \`${file}\`, ${b}`, file)).toBe(true);
      }),
    );
  });
});
