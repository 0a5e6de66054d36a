import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdits, type Edit } from '../../../src/engine/text/render.ts';
import { encodedOffsets, encodeEdits } from '../../../src/wires/json/value.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';
import { spelled, trickyText } from '../../helpers/json-text.ts';

const spelledText = trickyText.chain((text) => fc.tuple(fc.constant(text), spelled(text)));

/** Edits in order and without overlap, none between the halves of a character written as one. */
function editsIn(text: string): fc.Arbitrary<Edit[]> {
  const between = [...Array(text.length + 1).keys()].filter((i) => {
    const before = text.charCodeAt(i - 1);
    const after = text.charCodeAt(i);
    return !(before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff);
  });
  return fc
    .tuple(
      fc.array(fc.constantFrom(...between), { maxLength: 8 }),
      fc.array(trickyText, { minLength: 4, maxLength: 4 }),
    )
    .map(([offsets, texts]) => {
      const sorted = offsets.toSorted((a, b) => a - b);
      const edits: Edit[] = [];
      for (let i = 0; i + 1 < sorted.length; i += 2) {
        edits.push({ start: sorted[i] ?? 0, end: sorted[i + 1] ?? 0, text: texts[i / 2] ?? '' });
      }
      return edits;
    });
}

describe('edits inside a JSON string', () => {
  it('have the same effect in encoded form as in decoded form', () => {
    fc.assert(
      fc.property(
        spelledText.chain(([text, raw]) => fc.tuple(fc.constant(text), fc.constant(raw), editsIn(text))),
        ([text, raw, edits]) => {
          const edited = applyEdits(raw, encodeEdits(raw, edits, 0));
          expect(JSON.parse(`"${edited}"`)).toBe(applyEdits(text, edits));
        },
      ),
    );
  });

  it('leave every escape outside the edits as the client wrote it', () => {
    fc.assert(
      fc.property(spelledText, spelledText, trickyText, ([, before], [cut, rawCut], text) => {
        const raw = `${before}|${rawCut}|${before}`;
        const start = JSON.parse(`"${before}"`).length + 1;
        const edits = encodeEdits(raw, [{ start, end: start + cut.length, text }], 0);
        expect(applyEdits(raw, edits)).toBe(`${before}|${JSON.stringify(text).slice(1, -1)}|${before}`);
      }),
    );
  });

  it('find their position after escapes of every length', () => {
    const raw = 'a\\n\\u00e9\\ud83d\\ude00😀\\\\b';
    expect(encodedOffsets(raw, [0, 1, 2, 3, 4, 5, 7, 8, 9])).toEqual([0, 1, 3, 9, 15, 21, 23, 25, 26]);
  });

  it('are refused beyond the end of the string', () => {
    expect(() => encodedOffsets('ab', [3])).toThrow(RangeError);
  });

  it('cost the same per character, however many escapes there are', () => {
    const raw = '\\n\\u0041x'.repeat(400_000);
    const offsets = Array.from({ length: 300_000 }, (_, i) => i * 4);
    const startedAt = cpuMs();
    expect(encodedOffsets(raw, offsets)).toHaveLength(offsets.length);
    expect(cpuMs() - startedAt).toBeLessThan(1_000);
  });
});
