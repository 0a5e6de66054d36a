import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { filesBelow } from '../src/report/found.ts';
import { sessionFiles } from '../src/report/places.ts';

describe('session files', () => {
  it('are listed once each, despite cyclic or broken links', () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    writeFileSync(join(folder, 'a/b/one.jsonl'), '');
    writeFileSync(join(folder, 'two.jsonl'), '');
    symlinkSync(folder, join(folder, 'a/back'));
    symlinkSync(join(folder, 'a'), join(folder, 'again'));
    symlinkSync('self.jsonl', join(folder, 'self.jsonl'));
    symlinkSync('loop', join(folder, 'loop'));
    symlinkSync('missing', join(folder, 'nowhere'));
    const found = filesBelow(folder, '.jsonl');
    expect(found.filter((path) => !path.endsWith('self.jsonl'))).toEqual([
      join(folder, 'two.jsonl'),
      join(folder, 'a/b/one.jsonl'),
    ]);
    expect(filesBelow(join(folder, 'none'), '.jsonl')).toEqual([]);
  });

  it('are excluded if they are unreadable', () => {
    const home = tempFolder();
    const folder = join(home, '.claude/projects/p');
    mkdirSync(folder, { recursive: true });
    symlinkSync('self.jsonl', join(folder, 'self.jsonl'));
    expect(sessionFiles(home, 1)).toEqual([]);
  });
});
