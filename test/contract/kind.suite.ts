import { describe, expect, it } from 'vitest';
import type { Kind } from '../../src/engine/kinds/kind.ts';
import { recogniseKind } from '../../src/engine/kinds/recognise.ts';
import { planPrune } from '../../src/engine/plan.ts';
import { analyse } from '../../src/engine/reading.ts';
import { LinePattern } from '../../src/engine/rules/matcher.ts';
import { contentOf, isBlankLine, viewText } from '../../src/engine/text/view.ts';
import type { Hints, PruneInput } from '../../src/engine/types.ts';

/** A text of a kind, of about so many characters. */
export interface KindSample {
  readonly make: (chars: number) => string;
  readonly hints: Hints;
  /** Asks for something that the text has. */
  readonly goal: string;
}

const RATIOS = [0.3, 0.75, 0.9, 1];
/** Eight times the text may cost so much more; what grows with the square costs 64 times as much. */
const MOST_GROWTH = 30;

function cpuMs(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/** How much more CPU time one piece of work takes than another: the least of each, until that is below the limit. */
function growth(large: () => void, small: () => void): number {
  let [most, least] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let k = 0; k < 6 && !(most / least < MOST_GROWTH); k++) {
    most = Math.min(most, cpuMs(large));
    least = Math.min(least, cpuMs(small));
  }
  return most / least;
}

/** What must hold of any kind of text. */
export function describeKind(kind: Kind, { make, hints, goal }: KindSample): void {
  const text = make(12_000);
  const inputs = RATIOS.flatMap((maxPruneRatio): PruneInput[] =>
    ['', goal].flatMap((asked) =>
      [hints, { ...hints, origin: 'read' as const }].map((known, i) => ({
        asked: i === 0, // otherwise documents stay whole
        text,
        goal: asked,
        hints: known,
        limits: { maxPruneRatio, minKeepLines: 7 },
      })),
    ),
  );

  describe(`the kind ${kind.family}`, () => {
    it('is recognised, even if the caller gives only the path and the command', () => {
      const view = viewText(text, 0);
      expect(recogniseKind(view, undefined, hints).kind.family).toBe(kind.family);
      expect(recogniseKind(view, undefined, { ...hints, origin: 'unknown' }).kind.family).toBe(kind.family);
    });

    it('is cut within the limits and in order, if at all', () => {
      let cutLines = 0;
      for (const input of inputs) {
        const { cuts, lineCount } = planPrune(input);
        const gone = cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
        expect(gone).toBeLessThanOrEqual(input.limits.maxPruneRatio * lineCount + 1e-9);
        expect(gone === 0 || lineCount - gone >= input.limits.minKeepLines).toBe(true);
        cuts.forEach(({ startLine, endLine }, k) => {
          expect(startLine).toBeGreaterThan((cuts[k - 1]?.endLine ?? -1) + 1);
          expect(endLine).toBeGreaterThanOrEqual(startLine);
        });
        cutLines += gone;
      }
      expect(cutLines).toBeGreaterThan(0);
    });

    it('keeps every line that a rule protects', () => {
      for (const input of inputs) {
        const keep = analyse(input)?.keep ?? new Uint8Array();
        expect(keep.some((rule) => rule !== 0)).toBe(true);
        for (const { startLine, endLine } of planPrune(input).cuts) {
          expect(keep.subarray(startLine - 1, endLine).every((rule) => rule === 0)).toBe(true);
        }
      }
    });

    it('is cut the same way twice, whatever other texts are cut in between', () => {
      const first = inputs.map((input) => planPrune(input));
      expect(
        inputs
          .toReversed()
          .map((input) => planPrune(input))
          .reverse(),
      ).toEqual(first);
    });

    it('is cut in CPU time proportional to the length of the text', () => {
      const plan = (chars: number): (() => void) => {
        const large = make(chars);
        return () => void planPrune({ text: large, goal, hints, limits: { maxPruneRatio: 0.9, minKeepLines: 7 } });
      };
      plan(20_000)();
      expect(growth(plan(160_000), plan(20_000))).toBeLessThan(MOST_GROWTH);
    });

    it('has shapes that match the same lines with and without the prefilter', () => {
      const view = viewText(text, 0);
      for (const { name, pattern } of kind.shapes) {
        const rule = new LinePattern(pattern);
        for (let i = 0; i < view.n; i++) {
          if (isBlankLine(view, i)) continue;
          expect([name, i, rule.fits(view, i)]).toEqual([name, i, pattern.test(contentOf(view, i))]);
        }
      }
    });

    it('has line values between 0 and 1 that add up to 1', () => {
      const value = analyse({ text, goal, hints })?.value ?? new Float64Array();
      expect(value.every((share) => share >= 0 && share <= 1)).toBe(true);
      expect(value.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
    });
  });
}
