import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitLines } from '../../src/engine/text/lines.ts';
import { estimateLines, estimateTokens, tokensOf } from '../../src/engine/text/tokens.ts';
import { codesOf } from '../../src/engine/text/view.ts';

const piece = fc.oneof(
  fc.constantFrom(
    '\n',
    '\r\n',
    ' ',
    '  ',
    '\t',
    'word',
    'Mixed_Case9',
    '42',
    '{',
    '};',
    'é',
    '日本',
    '🙂',
    '\ud800',
    '\u2028',
  ),
  fc.string(),
);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

test('estimating in one pass finds the same lines and tokens as line-by-line counting', () => {
  fc.assert(
    fc.property(text, (value) => {
      const { count, starts, tokens } = estimateLines(value, codesOf(value));
      const lines = splitLines(value);
      expect(count).toBe(lines.count);
      expect([...starts]).toEqual([...lines.starts]);
      for (let i = 0; i < count; i++) {
        expect(tokens[i]).toBe(estimateTokens(value, lines.starts[i] ?? 0, lines.starts[i + 1] ?? 0));
      }
    }),
    { numRuns: 300 },
  );
});

test("the cost of a text is the sum of its lines' costs", () => {
  fc.assert(
    fc.property(text, (value) => {
      const { costs } = estimateLines(value, codesOf(value));
      const sum = costs.reduce((a, b) => a + b, 0);
      expect(tokensOf(sum, value, 0, value.length)).toBe(estimateTokens(value));
    }),
    { numRuns: 300 },
  );
});
