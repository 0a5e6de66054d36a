import { expect, it } from 'vitest';
import { cellLines } from '../../../src/engine/asked/cells.ts';
import { viewText } from '../../../src/engine/text/view.ts';

const found = (rows: readonly string[], goal: string): number[] => cellLines(viewText(rows.join('\n'), 0), goal);

it.each([
  ['a column of blanks', ['ii  make  4.3', 'ii  remake  4.2', 'ii  make-doc  4.3'], 'Which make is installed?', [0]],
  ['tabs', ['file\t5.44', 'libfile\t5.44'], 'Quelle version de file ?', [0]],
  ['bars', ['| perl | 5.36 |', '| perl-base | 5.36 |'], 'Is perl installed?', [0]],
  ['a slash behind a name at the beginning', ['less/stable 590', 'useless/stable 1'], 'Do we have less?', [0]],
  ['a name with signs', ['ii  g++  12', 'ii  g  1'], 'Which version of g++?', [0]],
  ['a name and a version', ['ii  libssl3:amd64  3.0', 'ii  libssl-dev  3.0'], 'What libssl do we have?', [0]],
  ['a name and an architecture', ['ii  zlib1g:i386  1.2', 'ii  zlib1g-dev  1.2'], 'Is zlib1g there?', [0]],
  ['no words of a sentence', ['we make a file of it', 'make sure'], 'Which file does make read?', []],
  ['no value of many rows', Array.from({ length: 5 }, () => 'ii  amd64  1'), 'Which amd64 packages are there?', []],
])('rows are found by a cell: %s', (_, rows, goal, lines) => {
  expect(found(rows, goal)).toEqual(lines);
});
