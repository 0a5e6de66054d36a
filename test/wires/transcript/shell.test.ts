import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shellParts, withoutLoops } from '../../../src/wires/transcript/call-targets.ts';
import { callFacts, filesOfCommand } from '../../../src/wires/transcript/tools.ts';

const hintsOf = (command: string): object => callFacts({ name: 'bash', args: JSON.stringify({ command }) }).hints;

describe('the parts of a command', () => {
  it('end only at separators outside quotes', () => {
    expect(shellParts(`cd a && nl b.ts | sed -n '1,5p;9p'; echo "x | y"`)).toEqual([
      ['cd a '],
      [' nl b.ts ', ` sed -n '1,5p;9p'`],
      [` echo "x | y"`],
    ]);
  });

  it('contain every character that is not a separator, in order', () => {
    const char = fc.constantFrom('a', ' ', "'", '"', '/');
    fc.assert(
      fc.property(
        fc.array(char).map((chars) => chars.join('')),
        (command) => {
          expect(shellParts(command).flat().join('')).toBe(command.trim() === '' ? '' : command);
        },
      ),
    );
  });

  it('are the commands in the body of a loop', () => {
    const parts = withoutLoops(shellParts('for f in a.ts b.ts; do cat "$f"; done'));
    expect(parts.map(([stage]) => stage?.trim())).toEqual(['cat "a.ts b.ts"']);
  });
});

describe('a command that prints a file', () => {
  it.each([
    ['git show main:src/a.ts', 'src/a.ts'],
    ["nl -ba src/a.ts | sed -n '1,80p;90,95p'", 'src/a.ts'],
    [`python3 -c "print(open('src/a.py').read())"`, 'src/a.py'],
    ['for f in src/a.ts; do echo "== $f"; cat "$f"; done', 'src/a.ts'],
    ['cat src/a.ts 2>/dev/null', 'src/a.ts'],
  ])('is recognised as a reading of the file: %s', (command, path) => {
    expect(hintsOf(command)).toMatchObject({ origin: 'read', path });
    expect(filesOfCommand(command)).toEqual([path]);
  });

  it('is distinguished from scripts that process it, and from lists of file names', () => {
    expect(hintsOf(`python3 -c "import json; print(json.load(open('a.json'))['x'])"`)).toMatchObject({
      origin: 'command',
    });
    expect(hintsOf('git show HEAD~1')).toMatchObject({ origin: 'command' });
    expect(hintsOf('rg --files src')).toMatchObject({ origin: 'listing' });
    expect(hintsOf('grep -rl foo src')).toMatchObject({ origin: 'listing' });
    expect(hintsOf('grep -rn foo src')).toMatchObject({ origin: 'search' });
  });
});
