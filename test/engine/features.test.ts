import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addFeatures, FEATURES, noFeatures } from '../../src/engine/text/features.ts';

function featuresOf(text: string, options?: Parameters<typeof addFeatures>[3]): Record<string, number> {
  const json = Buffer.from(JSON.stringify(text));
  const counts = noFeatures();
  addFeatures(counts, json, [1, json.length - 1], options);
  return Object.fromEntries(FEATURES.map((name, i) => [name, counts[i] ?? 0]));
}

describe('the features of a text', () => {
  it('are counted in JSON escapes', () => {
    expect(featuresOf('if (readFile("a-12")) {\n    return 7;\n}\té')).toEqual({
      ...{ letters: 17, words: 4, humps: 1, digits: 3, numbers: 2, signs: 10, signRuns: 7 },
      ...{ lineEnds: 2, gaps: 5, blanks: 3, indents: 1, others: 1, markers: 0, markerChars: 0 },
    });
  });

  it('include one of our markers with its characters, but not a look-alike in a client’s text', () => {
    const marker = '⟦PRUNÉ: prune_id=prn_1 lignes 2-3 (2) raison=x⟧';
    const text = `a\n${marker}\nb`;
    expect(featuresOf(text, { marked: true })).toMatchObject({ markers: 1, markerChars: marker.length });
    expect(featuresOf(text)).toMatchObject({ markers: 0, markerChars: 0 });
  });

  it('of a text minus itself are zero, and of two joined texts their sum', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (a, b) => {
        const [whole, first, second] = [featuresOf(`${a}\n${b}`), featuresOf(`${a}\n`), featuresOf(b)];
        for (const name of FEATURES) expect(whole[name]).toBe((first[name] ?? 0) + (second[name] ?? 0));
        const json = Buffer.from(JSON.stringify(a));
        const counts = noFeatures();
        addFeatures(counts, json, [1, json.length - 1]);
        addFeatures(counts, json, [1, json.length - 1], { times: -1 });
        expect(counts.every((count) => count === 0)).toBe(true);
      }),
    );
  });
});
