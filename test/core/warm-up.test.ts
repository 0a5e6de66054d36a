import { describe, expect, it } from 'vitest';
import { decisionKey, type Job } from '../../src/core/decide/decision.ts';
import { MainThreadDecider } from '../../src/core/decide/decision-maker.ts';
import { Turns } from '../../src/core/decide/turns.ts';
import { warmUp } from '../../src/core/decide/warm-up.ts';
import { textHash } from '../../src/core/hash.ts';
import { KINDS, kindNamed } from '../../src/engine/kinds/all.ts';
import { serverLog } from '../helpers/texts.ts';

describe('the warm-up of a process', () => {
  const decisions = [...warmUp()];

  it('decides about one text of each kind', () => {
    expect(decisions.map(({ kind }) => kindNamed(kind))).toEqual(KINDS);
  });

  it('cuts most of them, so that every step of a decision has run', () => {
    expect(decisions.filter(({ cuts }) => cuts.length > 0).length).toBeGreaterThan(4);
  });

  it('begins after the first decision of a request, not with the process', async () => {
    const order: string[] = [];
    const decider = new MainThreadDecider(new Turns(), () => order.push('warm-up'));
    const text = serverLog(400, 1);
    const hints = { origin: 'command', command: 'npm start' } as const;
    const about = { goal: 'Why?', limits: { maxPruneRatio: 0.9, minKeepLines: 20 }, tool: 'bash' } as const;
    const job: Job = { ...about, text, textHash: textHash(text), hints, caller: 'proxy', recoveryHint: 'tool' };
    expect(order).toEqual([]);
    await decider.decide(job, decisionKey(job), { cpuMs: 10_000 }, null);
    expect(order).toContain('warm-up');
  });
});
