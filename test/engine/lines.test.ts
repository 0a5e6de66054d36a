import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countLines, splitLines } from '../../src/engine/text/lines.ts';

const text = fc
  .array(fc.constantFrom('\n', '\r\n', 'a', 'abc', 'abcd', 'a line of some length', '\u2028', '😀'), { maxLength: 60 })
  .map((parts) => parts.join(''));

it('a line starts after each line end, however short or long it is, and both counts agree', () => {
  fc.assert(
    fc.property(text, (text) => {
      const starts = [0];
      for (let at = 0; at < text.length; at++) if (text[at] === '\n') starts.push(at + 1);
      if (starts.at(-1) !== text.length) starts.push(text.length);
      const lines = splitLines(text);
      expect([...lines.starts]).toEqual(starts);
      expect(lines.count).toBe(starts.length - 1);
      expect(countLines(text)).toBe(lines.count);
    }),
  );
});
