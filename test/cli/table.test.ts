import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { table, wrap } from '../../src/cli/table.ts';

describe('table', () => {
  const rows = [
    ['name', 'recall', 'saved', 'structure'],
    ['one', '12.3', '4', '100'],
  ];

  it('aligns the first column to the left and numbers to the right', () => {
    expect(table(rows)).toBe('name  recall  saved  structure\none     12.3      4        100');
  });

  it('repeats the word columns before columns that did not fit', () => {
    expect(table(rows, { width: 22 })).toBe(
      'name  recall  saved\none     12.3      4\n\nname  structure\none         100',
    );
  });

  it('loses no cell at any width', () => {
    const cell = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 6, maxLength: 6 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 80 }),
        (rows, width) => {
          const shown = table(rows, { width, textColumns: 2 }).split(/\s+/);
          for (const one of rows.flat()) expect(shown).toContain(one);
        },
      ),
    );
  });
});

describe('wrap', () => {
  it('breaks at spaces and indents continuation lines', () => {
    expect(wrap('a region goes when its worth is low', 20, 2)).toBe('a region goes when its\n  worth is low');
    expect(wrap('a region goes when its worth is low', 24, 2)).toBe('a region goes when its\n  worth is low');
  });

  it('leaves text unchanged if the width is unknown', () => {
    expect(wrap('x '.repeat(500), undefined)).toBe('x '.repeat(500));
  });

  it('keeps every word', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { maxLength: 40 }), fc.nat(90), (words, width) => {
        expect(wrap(words.join(' '), width, 4).split(/\s+/).filter(Boolean)).toEqual(words);
      }),
    );
  });

  it('keeps columns aligned next to names with characters two columns wide', () => {
    const rows = [
      ['name', 'tokens'],
      ['文件读取工具', '5'],
      ['read_file', '12345'],
    ];
    expect(table(rows).split('\n')).toEqual(['name          tokens', '文件读取工具       5', 'read_file      12345']);
    expect(table(rows, { width: 17 }).split('\n')[1]).toBe('文件读取…       5');
  });
});
