import type { Reading } from '@mcp-pruner/money/limits/attribution.ts';
import { attribute, divided, type WindowUse } from '@mcp-pruner/money/limits/attribution.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomFrom } from '../../../test/helpers/random.ts';

const MINUTE = 60_000;

let requests = 0;
/** A request from one second to another, and the percent that its answer reported. */
function reading(
  session: string,
  [fromS, toS]: readonly [number, number],
  percent: number,
  over: Partial<Reading> = {},
): Reading {
  return {
    account: 'a',
    provider: 'anthropic',
    plan: null,
    window: '5h',
    minutes: 300,
    resetsS: 18_000,
    used: percent * 10_000,
    status: 'allowed',
    request: `r${requests++}`,
    project: 'p',
    session,
    conversation: session,
    keyId: '',
    model: 'm',
    startedMs: fromS * 1000,
    endedMs: toS * 1000,
    weight: 100,
    ...over,
  };
}

/** Percent by session, and elsewhere. */
function sharesOf({ requests, elsewhere }: WindowUse): Record<string, number> {
  const shares: Record<string, number> = { elsewhere: elsewhere / 10_000 };
  for (const { reading, used } of requests) {
    if (used > 0) shares[reading.session] = (shares[reading.session] ?? 0) + used / 10_000;
  }
  return shares;
}

function only(readings: readonly Reading[]): WindowUse {
  const [window, ...others] = attribute(readings);
  if (window === undefined || others.length > 0) throw new Error(`${others.length + 1} windows`);
  return window;
}

describe('a request’s share of a window', () => {
  it('is the usage that its answer reports above the highest reading so far', () => {
    const window = only([
      reading('a', [0, 5], 42),
      reading('a', [6, 9], 41),
      reading('b', [10, 12], 42),
      reading('b', [13, 15], 44),
    ]);
    expect(sharesOf(window)).toEqual({ elsewhere: 42, b: 2 });
    expect(window.used).toBe(440_000);
  });

  it('is all that our own requests explain, however long the pause before them was', () => {
    const at = (startS: number) => only([reading('a', [0, 5], 10), reading('a', [startS, startS + 20], 15)]);
    expect(sharesOf(at(5 + 80))).toEqual({ elsewhere: 10, a: 5 });
    expect(sharesOf(at(5 + 7_200))).toEqual({ elsewhere: 10, a: 5 });
  });

  it('is limited to half more than its bill explains, rounded up; the rest was used elsewhere', () => {
    const steady = Array.from({ length: 30 }, (_, i) => reading('a', [i * 20, i * 20 + 5], i + 1));
    const jump = (percent: number, weight = 100) =>
      sharesOf(only([...steady, reading('b', [700, 720], 30 + percent, { weight })]));
    expect(jump(1)).toEqual({ elsewhere: 1, a: 29, b: 1 });
    expect(jump(2)).toEqual({ elsewhere: 1, a: 29, b: 2 });
    expect(jump(13)).toEqual({ elsewhere: 1 + 11, a: 29, b: 2 });
    expect(jump(13, 1_300)).toEqual({ elsewhere: 1, a: 29, b: 13 }); // a cold cache costs more
  });

  it('leaves nothing elsewhere if only our own requests move the window, with pauses and cold caches', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = randomFrom(seed);
      const rates: Record<string, number> = { small: 0.000_02 * (1 + next()), large: 0.000_1 * (1 + next()) };
      let atS = 0;
      let used = 0;
      const made = Array.from({ length: 60 }, () => {
        const isCold = next() < 0.2;
        atS += isCold ? 120 + 1_080 * next() : 10 * next();
        const weight = Math.round(1_000 * (0.5 + next()) * (isCold ? 10 : 1));
        const model = next() < 0.3 ? 'small' : 'large';
        used += weight * (rates[model] ?? 0) * (0.9 + 0.2 * next());
        const from = atS;
        atS += 5;
        return reading('a', [from, atS], Math.floor(used), { weight, model });
      });
      const [first] = made;
      expect(sharesOf(only(made)).elsewhere, `seed ${seed}`).toBe((first?.used ?? 0) / 10_000);
    }
  });

  it('is divided among overlapping requests in proportion to their billed amounts', () => {
    const window = only([
      reading('a', [0, 5], 10),
      reading('a', [6, 20], 14, { weight: 100 }),
      reading('b', [10, 30], 18, { weight: 300 }),
      reading('c', [31, 33], 19),
    ]);
    expect(sharesOf(window)).toEqual({ elsewhere: 10, a: 2, b: 6, c: 1 });
    expect(window.requests.map(({ shared }) => shared)).toEqual([0, 20_000, 60_000, 0]);
  });

  it('is not divided between two requests if one begins when the other ends', () => {
    const window = only([reading('a', [0, 5], 10), reading('a', [6, 10], 12), reading('b', [10, 12], 13)]);
    expect(sharesOf(window)).toEqual({ elsewhere: 10, a: 2, b: 1 });
    expect(window.requests.every(({ shared }) => shared === 0)).toBe(true);
  });

  it('restarts at the reset, even if an earlier answer arrives late', () => {
    const windows = attribute([
      reading('a', [0, 5], 90),
      reading('b', [10, 12], 2, { resetsS: 36_000 }),
      reading('a', [6, 13], 93),
      reading('b', [14, 15], 3, { resetsS: 36_000 }),
    ]);
    expect(windows.map(sharesOf)).toEqual([
      { elsewhere: 90, a: 3 },
      { elsewhere: 2, b: 1 },
    ]);
  });

  it('belongs to the same window if the seconds until the reset are rounded differently', () => {
    const window = only([reading('a', [0, 5], 1, { resetsS: 18_001 }), reading('a', [6, 7], 2, { resetsS: 17_999 })]);
    expect(sharesOf(window)).toEqual({ elsewhere: 1, a: 1 });
  });

  it('is separate for each window, including windows of individual models', () => {
    const windows = attribute([
      reading('a', [0, 5], 10),
      reading('a', [0, 5], 50, { window: '7d_opus' }),
      reading('b', [6, 8], 12),
      reading('a', [9, 12], 13),
      reading('a', [9, 12], 52, { window: '7d_opus' }),
    ]);
    expect(windows.map(sharesOf)).toEqual([
      { elsewhere: 10, a: 1, b: 2 },
      { elsewhere: 50, a: 2 },
    ]);
  });

  it('counts as usage elsewhere if the project was erased', () => {
    const window = only([
      reading('a', [0, 5], 10),
      reading('', [6, 8], 13, { project: '' }),
      reading('a', [9, 12], 14),
    ]);
    expect(sharesOf(window)).toEqual({ elsewhere: 13, a: 1 });
  });
});

describe('the shares of a window', () => {
  const request = fc.record({
    session: fc.constantFrom('a', 'b', 'c'),
    project: fc.constantFrom('p', 'q', ''),
    pauseMs: fc.oneof(fc.nat(1_000), fc.nat(10 * MINUTE)),
    durationMs: fc.nat(3 * MINUTE),
    percent: fc.nat(120),
    weight: fc.oneof(fc.constant(0), fc.nat(10_000_000)),
    reset: fc.constantFrom(18_000, 18_001, 36_000),
    window: fc.constantFrom('5h', '7d'),
  });

  it('and usage elsewhere add up exactly to the change, despite overlaps and resets', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 60 }), (made) => {
        let at = 0;
        const readings = made.map(({ pauseMs, durationMs, percent, reset, ...over }) => {
          at += pauseMs;
          const endedMs = at;
          return reading(over.session, [0, 0], percent, {
            ...over,
            resetsS: reset,
            startedMs: endedMs - durationMs,
            endedMs,
          });
        });
        const windows = attribute(readings);
        expect(windows.flatMap(({ requests }) => requests)).toHaveLength(readings.length);
        for (const { used, elsewhere, requests } of windows) {
          expect(requests.reduce((sum, one) => sum + one.used, elsewhere)).toBe(used);
          expect(used).toBe(Math.max(0, ...requests.map((one) => one.reading.used)));
          for (const one of requests) {
            expect(Number.isInteger(one.used) && one.used >= 0 && one.shared <= one.used).toBe(true);
            if (one.reading.project === '') expect(one.used).toBe(0);
          }
        }
      }),
    );
  });

  it('divide a whole number without a remainder', () => {
    fc.assert(
      fc.property(
        fc.nat(2_000_000),
        fc.array(fc.nat(100_000_000), { minLength: 1, maxLength: 50 }),
        (whole, weights) => {
          const parts = divided(whole, weights);
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole);
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          if (total > 0)
            for (const [i, part] of parts.entries())
              expect(Math.abs(part - (whole * (weights[i] ?? 0)) / total)).toBeLessThan(1.01);
        },
      ),
    );
  });
});
