import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conversation } from '../../bench/ledger-exact/conversation.ts';
import { TOKENISERS } from '../../bench/ledger-exact/tokenisers.ts';
import { WIRES } from '../../bench/ledger-exact/wires.ts';
import { play, type World } from '../../bench/ledger-exact/world.ts';
import { FEATURES } from '../../src/engine/text/features.ts';
import { TokenModel } from '../../src/ledger/token-model.ts';

const wires = Object.keys(WIRES) as World['wire'][];
/** Every wire, both tokenisers, both worlds; all of them by the bench `ledger-exact`, over 30 conversations each. */
const worlds = wires.map((wire, i) => [wire, i % 2 === 0 ? 'dense' : 'sparse', i < 2] as const);

describe('the saving of a model that was never seen before', () => {
  const conversations = Array.from({ length: 8 }, (_, i) => conversation(2_000 + i));

  it.each([...worlds, ['messages', 'dense', true] as const])(
    'over %s, with a %s tokeniser, hidden reasoning: %s, is within 3 % of the truth and in its range',
    async (wire, how, thinks) => {
      const { reported, really, range, spent, billed } = await play(
        { wire, count: TOKENISERS[how], thinks },
        conversations,
      );
      expect(really).toBeGreaterThan(0.1);
      expect(Math.abs(reported / really - 1)).toBeLessThan(0.03);
      expect(Math.abs(spent - billed)).toBeLessThan(0.000_01);
      const [low, high] = range ?? [Number.NaN, Number.NaN];
      expect([low <= really, really <= high, high - low < 0.3 * really]).toEqual([true, true, true]);
    },
  );
});

describe('hidden reasoning that is sent back', () => {
  const cases = (['responses', 'gemini'] as const).flatMap((wire) =>
    (['read', 'left out'] as const).map((carried) => [wire, carried] as const),
  );
  it.each(cases)('over %s does not change the scale if the provider reports it %s', async (wire, carried) => {
    const conversations = Array.from({ length: 8 }, (_, i) => conversation(2_000 + i));
    const { reported, really, range } = await play(
      { wire, count: TOKENISERS.dense, thinks: true, carried },
      conversations,
    );
    expect(Math.abs(reported / really - 1)).toBeLessThan(0.03);
    const [low, high] = range ?? [Number.NaN, Number.NaN];
    expect([low <= really, really <= high]).toEqual([true, true]);
  });
});

describe('the saving of the first three conversations with a model', () => {
  const characters = (text: string): number => Math.ceil(text.length / 4);

  it.each(['chat', 'messages'] as const)(
    'over %s lies in its range for a tokeniser unlike any known one',
    async (wire) => {
      for (const first of [5_100, 6_700, 8_300]) {
        const conversations = Array.from({ length: 3 }, (_, i) => conversation(first + i));
        const { reported, really, range } = await play({ wire, count: characters, thinks: true }, conversations);
        const [low, high] = range ?? [Number.NaN, Number.NaN];
        expect([low <= really, really <= high]).toEqual([true, true]);
        expect(Math.abs(reported / really - 1)).toBeLessThan(0.03);
      }
    },
  );
});

describe('the token model', () => {
  const text = fc.array(fc.nat(500), { minLength: FEATURES.length - 2, maxLength: FEATURES.length - 2 });
  const costs = fc.array(fc.double({ min: 0.01, max: 2, noNaN: true }), {
    minLength: FEATURES.length - 2,
    maxLength: FEATURES.length - 2,
  });
  const priced = (features: readonly number[], by: readonly number[]): number =>
    features.reduce((sum, count, i) => sum + count * (by[i] ?? 0), 0);

  it('learns any tokeniser that is linear in the features of texts, after some requests', () => {
    fc.assert(
      fc.property(costs, fc.array(text, { minLength: 60, maxLength: 60 }), text, (by, seen, next) => {
        const model = new TokenModel();
        for (const features of seen) model.learn(features, priced(features, by), 5);
        expect(Math.abs(model.tokens(next) - priced(next, by))).toBeLessThan(20 + 0.02 * priced(next, by));
      }),
      { numRuns: 30 },
    );
  });

  it('continues from the stored state, with less uncertainty about known texts', () => {
    const model = new TokenModel();
    const features = FEATURES.map((_, i) => 100 - i);
    const unsure = model.deviation(features);
    model.learn(features, 400, 5);
    const later = new TokenModel(model.evidence());
    expect(later.tokens(features)).toBeCloseTo(model.tokens(features), 6);
    expect(later.tokens(features)).toBeCloseTo(400, -1);
    expect(later.deviation(features)).toBeLessThan(unsure / 10);
  });
});
