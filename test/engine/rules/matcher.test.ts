import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it, test } from 'vitest';
import { mergeRules } from '../../../src/engine/rules/line-rule.ts';
import { LinePattern, Matcher } from '../../../src/engine/rules/matcher.ts';
import { needsOf } from '../../../src/engine/rules/prefilter.ts';
import { contentOf, isBlankLine, viewText } from '../../../src/engine/text/view.ts';

const root = join(import.meta.dirname, '..', '..', '..', 'src', 'engine');

function regexesIn(node: unknown): RegExp[] {
  if (node === null || typeof node !== 'object') return [];
  const regex = 'regex' in node && 'type' in node && node.type === 'Literal' ? node.regex : null;
  if (regex !== null && typeof regex === 'object' && 'pattern' in regex && 'flags' in regex) {
    return [new RegExp(String(regex.pattern), String(regex.flags))];
  }
  return Object.values(node).flatMap(regexesIn);
}

/** Every pattern of the engine that speaks of lines. */
const patterns = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('rules') && !file.startsWith('text'))
  .flatMap((file) => regexesIn(parseAst(readFileSync(join(root, file), 'utf8'), { lang: 'ts' })))
  .filter(({ flags }) => flags === '' || flags === 'i');

const WORDS = [
  ...new Set(patterns.flatMap(({ source }) => source.match(/[A-Za-z]{2,}|[#@<"'`|[({=*+:✓●├│-]+/g) ?? [])),
];
const SIGNS =
  '\t| |  |    |\u00a0|\u3000|0|12|2026-01-02T03:04:05|a|_|.|...|/|\\|(|)|{|}|;|,|:|=|=> |--|é|K|\u2028|日'.split('|');
const piece = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(...SIGNS),
  fc.constantFrom(...WORDS).map((word) => word.toUpperCase()),
);
/** A line with some of a pattern's own words in their order, so that many fit. */
const lineFor = ({ source }: RegExp) => {
  const own = source.replaceAll(/\\[sS]\+?|\{\d,?\d*\}/g, ' ').match(/[\w.]{2,}|[^\\\w?()]/g) ?? ['a'];
  const near = fc
    .tuple(fc.nat(own.length), fc.integer({ min: 1, max: 4 }))
    .map(([from, count]) => own.slice(from, from + count).join(''));
  return fc.array(fc.oneof(piece, near), { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''));
};

describe('a matcher', () => {
  it('is built from every line pattern of the engine', () => {
    expect(patterns.length).toBeGreaterThan(70);
    for (const pattern of patterns) expect(needsOf(pattern).length, String(pattern)).toBeGreaterThan(0);
  });

  test('never hides a line that the plain pattern matches', () => {
    let matched = 0;
    for (const pattern of patterns) {
      const rule = new LinePattern(pattern);
      fc.assert(
        fc.property(lineFor(pattern), (line) => {
          const view = viewText(`${line}\nx\n`, 0);
          if (isBlankLine(view, 0) || !pattern.test(contentOf(view, 0))) return;
          matched++;
          expect(rule.fits(view, 0), `${pattern} on ${JSON.stringify(line)}`).toBe(true);
        }),
        { numRuns: 150 },
      );
    }
    expect(matched).toBeGreaterThan(500);
  });

  it('finds the same rules for a line as each pattern alone', () => {
    const rules = patterns.slice(0, 30).map((pattern, k) => ({ name: `r${k}`, pattern }));
    const matcher = new Matcher(rules);
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (pieces) => {
        const view = viewText(`${pieces.join('')}\n`, 0);
        fc.pre(view.n > 0 && !isBlankLine(view, 0));
        const fitting = rules.filter(({ pattern }) => pattern.test(contentOf(view, 0))).map(({ name }) => name);
        const fit = matcher.matches(view, 0, 400);
        const names = matcher.named.filter(({ bits }) => (fit & bits) !== 0).map(({ name }) => name);
        expect(names).toEqual(fitting);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['a word anywhere', /error|exception/i, 'an EXCEPTION', 'nothing'],
    ['a beginning', /^(?:diff|index) /, 'index 1', 'an index '],
    ['a beginning behind blanks', /^\s*at \S/, '    at x', '    x at '],
    ['a word behind any beginning', /^\S+: error: /, 'a.c: error: b', 'a.c: warning: b'],
    ['spellings of a word', /\bE\d{3}\b/, 'see E123', 'see E12'],
  ])('requires %s before the pattern is tried', (_what, pattern, fitting, other) => {
    const rule = new LinePattern(pattern);
    const fits = (line: string): boolean => rule.fits(viewText(`${line}\n`, 0), 0);
    expect([fits(fitting), fits(other)]).toEqual([true, false]);
    const tried = new Matcher([
      { name: '', pattern },
      { name: 'else', pattern: /zzz/ },
    ]);
    expect(tried.candidates(viewText(`${other}\n`, 0), 0)).toBe(0);
  });

  it('accepts no more rules than a number has bits', () => {
    expect(() => new Matcher(Array.from({ length: 32 }, (_, k) => ({ name: `${k}`, pattern: /a/ })))).toThrow(
      RangeError,
    );
  });

  it('refuses a pattern that it does not understand', () => {
    expect(() => new LinePattern(/(a)\1/).fits(viewText('aa\n', 0), 0)).toThrow(SyntaxError);
  });
});

it('rules with the same name are merged into one pattern per set of flags', () => {
  const merged = mergeRules([
    { name: 'a', pattern: /x/ },
    { name: 'b', pattern: /y/ },
    { name: 'a', pattern: /z$/ },
    { name: 'a', pattern: /w/i },
  ]);
  expect(merged.map(({ name, pattern }) => `${name} ${pattern}`)).toEqual(['a /x|z$/', 'b /y/', 'a /w/i']);
});
