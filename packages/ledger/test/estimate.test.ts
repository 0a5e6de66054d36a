import { describe, expect, it } from 'vitest';
import { conversation } from '../../../bench/ledger-exact/conversation.ts';
import { TOKENISERS } from '../../../bench/ledger-exact/tokenisers.ts';
import { WIRES } from '../../../bench/ledger-exact/wires.ts';
import { play, type World } from '../../../bench/ledger-exact/world.ts';

const wires = Object.keys(WIRES) as World['wire'][];
/** Every wire, both tokenisers, both worlds; all of them by the bench `ledger-exact`, over 30 conversations each. */
const worlds = wires.map((wire, i) => [wire, i % 2 === 0 ? 'dense' : 'sparse', i < 2] as const);

describe('the saving of a model that was never seen before', () => {
  const conversations = Array.from({ length: 5 }, (_, i) => conversation(2_000 + i));

  it.each([...worlds, ['messages', 'dense', true] as const])(
    'over %s, with a %s tokeniser, hidden reasoning: %s, is near the truth and in its range',
    async (wire, how, thinks) => {
      const { reported, really, range, spent, billed } = await play(
        { wire, count: TOKENISERS[how], thinks },
        conversations,
      );
      expect(really).toBeGreaterThan(0.1);
      // estimates are made for tokenisers like o200k, the sparse one; another one is only scaled
      expect(Math.abs(reported / really - 1)).toBeLessThan(how === 'sparse' ? 0.05 : 0.11);
      expect(Math.abs(spent - billed)).toBeLessThan(0.000_01);
      const [low, high] = range;
      expect([low <= really, really <= high, high - low < 0.3 * really]).toEqual([true, true, true]);
    },
  );
});

describe('hidden reasoning that is sent back', () => {
  const cases = (['responses', 'gemini'] as const).flatMap((wire) =>
    (['read', 'left out'] as const).map((carried) => [wire, carried] as const),
  );
  it.each(cases)('over %s does not change the scale if the provider reports it %s', async (wire, carried) => {
    const conversations = Array.from({ length: 5 }, (_, i) => conversation(2_000 + i));
    const { reported, really, range } = await play(
      { wire, count: TOKENISERS.dense, thinks: true, carried },
      conversations,
    );
    expect(Math.abs(reported / really - 1)).toBeLessThan(0.11);
    const [low, high] = range;
    expect([low <= really, really <= high]).toEqual([true, true]);
  });
});
