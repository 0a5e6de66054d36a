import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTemplates, shapeHash, slowShapeHash } from '../../src/engine/text/templates.ts';
import { codesOf, viewText } from '../../src/engine/text/view.ts';

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('1', '42', 'a', 'f', 'be', 'cafe', 'E', 'z', '-', ' ', 'deadbe', '0f') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('a'.repeat(63), 'b'.repeat(64), 'c'.repeat(70), '7'.repeat(66), 'x'.repeat(115)),
  },
);

test('the shape of a line is the same when read in one pass as run by run', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const codes = codesOf(pieces.join(''));
      expect(shapeHash(codes, 0, codes.length)).toBe(slowShapeHash(codes, 0, codes.length));
    }),
    { numRuns: 2000 },
  );
});

test('lines that differ only in numbers and ids have one shape, and are counted', () => {
  const lines = [
    'took 12 ms id=0f3a9c2b',
    'took 7 ms id=deadbeef01',
    'took 7 s id=deadbeef01',
    'face value',
    'fade value',
  ];
  const { shape, count, seenBefore } = readTemplates(viewText(lines.join('\n'), 0));
  expect([...shape]).toEqual([0, 0, 1, 2, 3]);
  expect([...count.slice(0, 4)]).toEqual([2, 1, 1, 1]);
  expect(seenBefore(1)).toBe(1);
});
