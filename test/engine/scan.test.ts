import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextScan } from '../../src/engine/search/scan.ts';
import { termsOf } from '../../src/engine/search/terms.ts';
import { cpuMs } from '../helpers/cpu-time.ts';

/** Scans texts, each with its index as its id. */
function scan(texts: readonly string[], words: readonly string[], of: { path?: string; about?: string } = {}) {
  const scanned = new TextScan(new Map(words.map((word) => [word, false])), []);
  for (const [id, text] of texts.entries()) scanned.add({ id, path: '', about: '', chars: text.length, ...of }, text);
  return scanned.ranked(100);
}

const countOf = (text: string, word: string): number => scan([text], [word]).withTerm.get(word) ?? 0;

/** Words of several scripts and spellings, and what stands between them. */
const pieces = fc.constantFrom(
  'getUser',
  'get_user',
  'HTTPServer2',
  'naïve',
  'ΟΔΟΣ',
  'ΟΔΟΣ.Α',
  'İzmir',
  '日本語の',
  '한글',
  'a',
  '_user_1',
  ' ',
  '\n',
  '.',
  '™',
  '٣',
  '🛒',
  'e\u0301',
  '\ud83d',
);
const texts = fc
  .array(fc.oneof({ weight: 3, arbitrary: pieces }, fc.string({ unit: 'binary', maxLength: 4 })))
  .map((all) => all.join(''));

describe('a scan of texts', () => {
  it('finds each term of a text, short ones not across underscores', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const terms = termsOf(text).filter(({ length }) => length > 4 || !text.includes('_'));
        for (const term of terms) expect([text, term, countOf(text, term)]).toEqual([text, term, 1]);
      }),
    );
  });

  it('finds no ASCII word that is only a part of another one', () => {
    const words = fc.array(fc.stringMatching(/^[a-zA-Z0-9_]{1,9}$/), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(words, fc.stringMatching(/^[a-z]{2,4}$/), (all, word) => {
        const text = all.join(' ');
        const joined = all.some((one) => one.replaceAll('_', '').toLowerCase().includes(word) && one.includes('_'));
        if (!joined)
          expect([text, word, countOf(text, word)]).toEqual([text, word, Number(termsOf(text).includes(word))]);
      }),
    );
    expect(scan(['strings and rings', 'a ring'], ['ring']).withTerm.get('ring')).toBe(1);
  });

  it('finds texts by their call and path', () => {
    expect(scan(['ok'], ['deploy'], { about: 'npm run deploy' }).ids).toEqual([0]);
    expect(scan(['ok'], ['deploy'], { path: 'src/deploy/main.ts' }).ids).toEqual([0]);
    expect(scan(['ok'], ['deploy']).ids).toEqual([]);
  });

  it('finds parts of words only if no text has the word', () => {
    expect(scan(['loadZebrafish()', 'nothing'], ['ebraf']).ids).toEqual([0]);
    expect(scan(['loadZebrafish()', 'ebraf'], ['ebraf']).ids).toEqual([1]);
  });

  it('ranks by rare words, and by length', () => {
    const [lion, zebra] = ['lion', 'zebra'];
    const others = Array.from({ length: 9 }, () => `${lion} tiger`);
    const all = [...others, 'tiger tiger', `${zebra} tiger`, `${zebra} ${lion}`];
    expect(scan(all, [lion, zebra]).ids.slice(0, 3)).toEqual([11, 10, 8]);
    const long = `${zebra} ${'other words of the text '.repeat(100)}`;
    expect(scan([long, `${zebra} alone`, ...others], [zebra]).ids).toEqual([1, 0]);
  });

  it('reads a long run of letters in time proportional to its length', () => {
    const run = `${'aB'.repeat(200_000)}é`;
    const began = cpuMs();
    expect(countOf(run.repeat(3), 'ab')).toBe(0);
    expect(cpuMs() - began).toBeLessThan(5_000);
  });
});
