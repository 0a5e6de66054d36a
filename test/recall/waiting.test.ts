import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecallCandidate } from '../../src/core/ports/recall.ts';
import { type WaitingResult, WaitingTexts } from '../../src/core/recall/waiting.ts';
import { folded, termsOf } from '../../src/engine/search/terms.ts';

const NONE = { results: 0, meanChars: 1, withTerm: new Map<string, number>() };

function result(text: string, of: Partial<RecallCandidate> = {}): WaitingResult {
  const candidate = { row: 1, pruneId: 'p', tool: '', path: '', about: '', seenMs: 0, chars: text.length, newer: null };
  return { candidate: { ...candidate, ...of }, text };
}

const countOf = (texts: readonly WaitingResult[], word: string): number =>
  new WaitingTexts(texts, [word]).addTo(NONE).withTerm.get(word) ?? 0;

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
  '_x_1',
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

describe('texts waiting to be indexed', () => {
  it('contain each of their terms in the normalised form that searches use', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const form = folded(text);
        for (const term of termsOf(text)) expect(form).toContain(folded(term));
      }),
    );
  });

  it('count words as the index does', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const term of termsOf(text)) expect(countOf([result(text)], term)).toBe(1);
      }),
    );
    expect(countOf([result('strings and rings'), result('a ring')], 'ring')).toBe(1);
  });

  it('are found by their call and path', () => {
    const about = result('ok', { about: 'npm run deploy' });
    const path = result('ok', { path: 'src/deploy/main.ts' });
    expect(new WaitingTexts([about, path, result('ok')], ['deploy']).best([], 10)).toEqual([about, path]);
  });

  it('are ranked by their heaviest words if there are too many of them', () => {
    const [both, rare, common, none] = ['lion zebra', 'zebra', 'lion', 'tiger'].map((text) => result(text));
    if (!both || !rare || !common || !none) throw new Error('four results');
    const found = new WaitingTexts([none, common, rare, both], ['lion', 'zebra']);
    const query = [
      { term: 'lion', weight: 1 },
      { term: 'zebra', weight: 3 },
    ];
    expect(found.best(query, 2)).toEqual([both, rare]);
    expect(found.best(query, 3)).toEqual([both, rare, common]);
  });
});
