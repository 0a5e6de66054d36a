import { expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { serverLog } from '../helpers/texts.ts';

it('the reason of a cut of repeated log lines names what repeats, not when', () => {
  const { cuts } = planPrune({
    text: serverLog(800),
    goal: 'why do payments fail',
    hints: { origin: 'command' },
    limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  });
  const reasons = cuts.map(({ reason }) => reason).filter((reason) => reason.startsWith('journal répétitif'));
  expect(reasons.length).toBeGreaterThan(0);
  for (const reason of reasons) expect(reason).toBe('journal répétitif: INFO GET');
});
