import { describe, expect, it } from 'vitest';
import { decisionOf, type Job } from '../../src/core/decide/decision.ts';
import { textHash } from '../../src/core/hash.ts';
import type { Plan } from '../../src/engine/types.ts';

function jobOf(text: string): Job {
  const limits = { maxPruneRatio: 1, minKeepLines: 0 };
  return { text, textHash: textHash(text), goal: '', hints: { origin: 'unknown' }, limits, tool: '', caller: 'proxy' };
}

/** A plan that takes out lines 2 to `last`. */
function cutting(last: number): Plan {
  const cuts = [{ startLine: 2, endLine: last, reason: 'journal répétitif' }];
  return { sourceType: 'logs', kind: 'log', lineCount: 40, cuts, warnings: [] };
}

describe('a decision made from a plan', () => {
  const text = 'a short line\n'.repeat(40);

  it('cuts if the cut lines cost more than the marker', () => {
    const decision = decisionOf(jobOf(text), 'key', cutting(39));
    expect(decision).toMatchObject({ lines: 40, keptLines: 2, whole: '' });
    expect(decision.pruneId).toMatch(/^prn_/);
    expect(decision.tokensAfter).toBeLessThan(decision.tokensBefore);
  });

  it('leaves the text whole if the marker costs more than the cut lines', () => {
    expect(decisionOf(jobOf(text), 'key', cutting(3))).toMatchObject({
      pruneId: null,
      cuts: [],
      whole: 'too_little_saved',
      lines: 40,
      keptLines: 40,
    });
  });

  it('leaves the text whole with the plan’s warning as the reason', () => {
    const plan: Plan = { ...cutting(39), cuts: [], warnings: ['timeout'] };
    expect(decisionOf(jobOf(text), 'key', plan)).toMatchObject({ pruneId: null, whole: 'timeout' });
  });
});
