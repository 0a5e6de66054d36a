import { expect, it } from 'vitest';
import { KINDS } from '../../bench/engine-speed/texts.ts';
import { planPrune } from '../../src/engine/plan.ts';
import { splitLines } from '../../src/engine/text/lines.ts';
import { annotate, renderText } from '../../src/engine/text/render.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Origin, PruneInput } from '../../src/engine/types.ts';

const RATIOS = [0.4, 0.6, 0.75, 0.8, 0.85, 0.89, 0.9, 1];
const WAYS: readonly (readonly [Origin, boolean])[] = [
  ['read', false],
  ['command', false],
  ['unknown', false],
  ['unknown', true],
];
const many = (line: string): string[] => Array.from({ length: 14 }, (_, i) => `${line} ${i}`);
const FENCED = Array.from({ length: 24 }, (_, i) =>
  [
    `## Step ${i}`,
    '',
    ...many(`Voucher ${i} is paid on day`),
    '',
    '```sh',
    ...many(`pay --voucher ${i} --day`),
    '```',
    '',
  ].join('\n'),
).join('\n');

function tokensLeft(input: PruneInput): number {
  const { cuts } = planPrune(input);
  const options = { annotateLines: false, includeMarkers: true };
  return estimateTokens(renderText(splitLines(input.text), annotate(cuts, 'prn_0123456789AB'), options));
}

const TEXTS = [
  ...KINDS.map(({ name, make }) => ({ name, text: make(9_000) })),
  { name: 'fenced document', text: FENCED },
];

for (const { name, text } of TEXTS) {
  it(`a larger max_prune_ratio never leaves more of a ${name}, whatever its origin`, () => {
    for (const [origin, asked] of WAYS) {
      const left = RATIOS.map((maxPruneRatio) =>
        tokensLeft({
          text,
          goal: 'why is the order not paid',
          hints: { origin },
          asked,
          limits: { maxPruneRatio, minKeepLines: 5 },
        }),
      );
      const about = `${origin}, ${asked ? 'asked' : 'not asked'}`;
      // an output of which nothing could be cut is tried with bolder steps, which cut more than a mild cut at a larger ratio
      if (asked || origin === 'read') expect(left, about).toEqual(left.toSorted((a, b) => b - a));
      else expect(left.at(-1), about).toBe(Math.min(...left));
    }
  });
}

it('headings and fences of a document are never cut while the ratio is below the ceiling', () => {
  const limits = { maxPruneRatio: 0.85, minKeepLines: 5 };
  const { cuts } = planPrune({ text: FENCED, goal: 'pay voucher 7', asked: true, limits, sourceType: 'docs' });
  const gone = cuts.flatMap(({ startLine, endLine }) => FENCED.split('\n').slice(startLine - 1, endLine));
  expect(gone.length).toBeGreaterThan(60);
  expect(gone.filter((line) => line.startsWith('#') || line.startsWith('```'))).toEqual([]);
});

it('a title underlined with tildes opens no fence: the lines below it can be cut individually', () => {
  const part = (i: number): string =>
    [`Voucher ${i}`, '~~~~~~~~~~~~~', '', `Voucher ${i} is paid on day ${i}.`, ''].join('\n');
  const text = Array.from({ length: 30 }, (_, i) => part(i)).join('\n');
  const limits = { maxPruneRatio: 0.85, minKeepLines: 5 };
  const { cuts } = planPrune({
    text,
    goal: 'when is voucher 21 paid',
    asked: true,
    limits,
    sourceType: 'docs',
    hints: { origin: 'unknown', path: 'a.rst' },
  });
  const gone = cuts.flatMap(({ startLine, endLine }) => text.split('\n').slice(startLine - 1, endLine));
  expect(gone.filter((line) => line.startsWith('~'))).toEqual([]);
});
