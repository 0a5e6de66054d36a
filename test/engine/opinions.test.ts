import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withOpinions } from '../../src/engine/choose/choice.ts';
import type { Choice } from '../../src/engine/choose/runs.ts';
import { planPrune } from '../../src/engine/plan.ts';
import { sampleLines } from '../../src/engine/sample-lines.ts';
import { serverLog } from '../helpers/texts.ts';

function choiceOf(value: readonly number[]): Choice {
  const n = value.length;
  return {
    n,
    value: Float64Array.from(value),
    tokens: new Float64Array(n).fill(10),
    size: new Float64Array(n).fill(10),
    keep: new Uint8Array(n),
    glued: new Uint8Array(n),
    markerSize: 40,
    price: 0.03,
    budget: n,
  };
}

describe('an opinion about a line', () => {
  it('changes the value of its line, unless it is 0.5 or missing', () => {
    const opinions = Float64Array.from([1, 0.5, Number.NaN, 0.25, 0]);
    const { value } = withOpinions(opinions, choiceOf([0.2, 0.2, 0.2, 0.2, 0.2]));
    expect(value[0]).toBeGreaterThan(0.03 * (10 + 40));
    expect([...value.slice(1)]).toEqual([0.2, 0.2, 0.1, 0]);
  });

  it('never changes other lines, and a higher one never lowers the value', () => {
    const opinion = fc.double({ min: -0.5, max: 1.5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double({ min: 0, max: 3, noNaN: true }), opinion, opinion)), (lines) => {
        const choice = choiceOf(lines.map(([value]) => value));
        const first = withOpinions(
          Float64Array.from(lines, ([, one]) => one),
          choice,
        ).value;
        const second = withOpinions(
          Float64Array.from(lines, ([, , two]) => two),
          choice,
        ).value;
        lines.forEach(([value, one, two], i) => {
          if (Number.isNaN(one)) expect(first[i]).toBe(value);
          if (one <= two) expect(first[i]).toBeLessThanOrEqual(second[i] ?? 0);
          expect(Number.isFinite(first[i])).toBe(true);
        });
      }),
    );
  });

  it('cannot override the limits or protected lines', () => {
    const text = serverLog(200);
    const failure = text.split('\n').findIndex((line) => line.includes('ERROR')) + 1;
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1 }), { minLength: 0, maxLength: 250 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(220),
        (opinions, maxPruneRatio, minKeepLines) => {
          const { cuts } = planPrune({
            text,
            goal: 'g',
            sourceType: 'logs',
            limits: { maxPruneRatio, minKeepLines },
            externalScores: Float64Array.from(opinions),
          });
          const gone = cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
          expect(gone).toBeLessThanOrEqual(200 * maxPruneRatio + 1e-9);
          if (gone > 0) expect(200 - gone).toBeGreaterThanOrEqual(minKeepLines);
          expect(cuts.some(({ startLine, endLine }) => startLine <= failure && failure <= endLine)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the lines that are sent to another backend', () => {
  it('are all lines that contain words if they fit, otherwise the most relevant, without duplicates', () => {
    const text = `${'one sentence that fifty lines of this text have in common with each other\n'.repeat(50)}\n---\nthe voucher is printed\n${'and another sentence that fifty more lines of it have in common too\n'.repeat(50)}`;
    const input = { text, goal: 'where is the voucher printed?', sourceType: 'docs' as const };
    expect(sampleLines(input, 200)).toHaveLength(101);
    const few = sampleLines(input, 3);
    expect(few).toContain(52);
    expect(few.length).toBeLessThanOrEqual(3);
    const contents = few.map((i) => text.split('\n')[i]);
    expect(new Set(contents).size).toBe(few.length);
    expect(sampleLines({ ...input, text: '' }, 3)).toEqual([]);
  });
});
