import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Calibration } from '../../src/ledger/calibration.ts';

const TRUE: Readonly<Record<string, number>> = { log: 1.6, code: 0.9, docs: 1.1, '': 1.3 };

/** Requests that bring mostly one kind of text, with a word beside it, as agents' do. */
const request = fc.record({
  kind: fc.constantFrom('log', 'code', 'docs'),
  tokens: fc.integer({ min: 500, max: 12_000 }),
  beside: fc.integer({ min: 10, max: 300 }),
  noise: fc.double({ min: -0.04, max: 0.04, noNaN: true }),
});

describe('the calibration of estimated tokens', () => {
  it('tells kinds of text apart that a provider counts differently', () => {
    fc.assert(
      fc.property(fc.array(request, { minLength: 40, maxLength: 60 }), (requests) => {
        const calibration = new Calibration();
        for (const { kind, tokens, beside, noise } of requests) {
          const reported = tokens * (TRUE[kind] ?? 1) * (1 + noise) + beside * (TRUE[''] ?? 1);
          calibration.see({ [kind]: tokens, '': beside }, reported);
        }
        for (const kind of ['log', 'code', 'docs']) {
          const ratio = calibration.ratioOf(kind);
          if (ratio !== null) expect(Math.abs(ratio / (TRUE[kind] ?? 1) - 1)).toBeLessThan(0.08);
        }
      }),
    );
  });

  it('goes on from what was written down', () => {
    const [first, later] = [new Calibration(), new Calibration()];
    const shares = first.see({ log: 5_000, '': 50 }, 8_065);
    for (const kind of ['log', '']) later.know(kind, shares[kind] ?? 0, kind === 'log' ? 5_000 : 50);
    expect(later.ratioOf('log')).toBeCloseTo(first.ratioOf('log') ?? 0, 9);
    expect(later.ratioOf('log')).toBeCloseTo(1.6, 1);
  });

  it('says nothing of a kind that was hardly seen', () => {
    const calibration = new Calibration();
    calibration.see({ log: 400 }, 640);
    expect([calibration.ratioOf('log'), calibration.ratioOf('code')]).toEqual([null, null]);
  });
});
