import { RULES } from 'mcp-pruner/engine/kinds/kind.ts';
import { CODE_WEIGHTS, DOCS_WEIGHTS, LOG_WEIGHTS } from 'mcp-pruner/engine/rank/weights.ts';
import { describe, expect, it } from 'vitest';
import type { Why, WhyRegion } from '../src/why.ts';
import { inWords } from '../src/words.ts';

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

  it.each([
    ['hors focus', 'off focus'],
    ['hors focus: debounce, maxWait', 'off focus: debounce, maxWait'],
    ['hors focus: retry; source intacte, lignes par recover_text', 'off focus: retry'],
    ['répétitif', 'repetitive'],
    ['journal répétitif: T03 INFO GET', 'repetitive log: T03 INFO GET'],
    ['off focus: debounce', 'off focus: debounce'],
    ['a word of a newer version', 'a word of a newer version'],
  ])('are English if the marker says %s', (reason, expected) => {
    expect(inWords({ ...region, kept: false, because: 'noise', reason }, why, '')).toMatch(`; marked "${expected}"`);
  });
});
