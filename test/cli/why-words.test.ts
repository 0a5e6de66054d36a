import { describe, expect, it } from 'vitest';
import { REASON_WORDS } from '../../src/core/calls/reason-words.ts';
import type { Why, WhyRegion } from '../../src/core/calls/why.ts';
import { inWords } from '../../src/core/calls/why-words.ts';
import { RULES } from '../../src/engine/kinds/protection.ts';
import { CODE_WEIGHTS, DOCS_WEIGHTS, LOG_WEIGHTS } from '../../src/engine/rank/weights.ts';

const why: Why = { certainty: 'ranked', terms: [], threshold: 1, budget: 9, cutsToday: [], regions: [] };
const region: WhyRegion = {
  startLine: 1,
  endLine: 2,
  kept: true,
  because: 'relevance',
  rule: '',
  reason: '',
  score: { worth: 2, tokens: 9, terms: [], measures: [] },
};
const weights = [LOG_WEIGHTS, ...[CODE_WEIGHTS, DOCS_WEIGHTS].flatMap(({ matches, nature }) => [matches, nature])];
const names = [...new Set(weights.flatMap((byName) => Object.keys(byName)))];

describe('the words of an explanation', () => {
  it.each(names)('name the measure %s', (name) => {
    const score = { worth: 2, tokens: 9, terms: [], measures: [{ name, effect: 1 }] };
    const [, words = name] = inWords({ ...region, score }, why, '').split('for it: ');
    expect(words).not.toBe(name);
  });

  it.each(RULES.slice(1))('name the rule %s', (rule) => {
    expect(inWords({ ...region, because: 'rule', rule }, why, '')).toMatch(new RegExp(`^rule ${rule}: .`));
  });

  it('have a French form for each English one, and no English word in a French explanation', () => {
    const { fr, en } = REASON_WORDS;
    expect(Object.keys(fr.measures)).toEqual(Object.keys(en.measures));
    for (const because of [
      'rule',
      'relevance',
      'noise',
      'block',
      'marker',
      'budget',
      'whole',
      'asked',
      'unknown',
    ] as const)
      for (const kept of [true, false]) {
        const measures = [
          { name: 'match', effect: 1 },
          { name: 'blank', effect: -1 },
        ];
        const score = { worth: 1.5, tokens: 9, terms: ['pay'], measures };
        const one: WhyRegion = { ...region, because, kept, rule: 'import', reason: 'hors focus', score };
        const french = inWords(one, why, '', 'fr');
        expect(french).toMatch(/ ; marqué « hors focus »$/);
        expect(french).not.toMatch(/\b(?:worth|rule|below|but|the|not|cut|has|marked)\b|1\.50/);
        expect(french).not.toBe(inWords(one, why, ''));
      }
    expect(
      inWords(
        { ...region, because: 'noise', score: { worth: 0.5, tokens: 9, terms: [], measures: [] } },
        why,
        '',
        'fr',
      ),
    ).toBe('valeur 0,50, au-dessous de 1,00');
  });
});
