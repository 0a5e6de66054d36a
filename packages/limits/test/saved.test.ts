import { attribute, type Reading } from '@mcp-pruner/money/limits/attribution.ts';
import type { Arm } from 'mcp-pruner/core/ports/ledger.ts';
import { describe, expect, it } from 'vitest';
import { armsCompared } from '../src/report.ts';
import { savedShare } from '../src/saved.ts';

/** Readings of a provider that counts each model at a rate of its own, in exact figures rounded to a percent. */
function readingsOf(count: number, rates: Readonly<Record<string, number>>): Reading[] {
  let used = 0;
  return Array.from({ length: count }, (_, i) => {
    const model = Object.keys(rates)[i % 3 === 0 ? 1 : 0] ?? 'a';
    const weight = 1_000_000 + ((i * 7_919) % 500_000);
    used += weight * (rates[model] ?? 0);
    return {
      ...{ account: 'x', provider: 'anthropic', plan: null, window: '7d', minutes: 10_080, resetsS: 600_000 },
      ...{ used: Math.floor(used / 10_000) * 10_000, status: null, request: `r${i}`, project: 'p', session: 's' },
      ...{ conversation: 's', keyId: '', model, startedMs: i * 10_000, endedMs: i * 10_000 + 5_000, weight },
    };
  });
}

describe('the arms of a hold-out test', () => {
  /** Conversations of three requests, of which every third one is held out and uses twice as much. */
  const compared = (conversations: number) => {
    let used = 0;
    const readings = Array.from({ length: conversations * 3 }, (_, i): Reading => {
      const conversation = `c${Math.floor(i / 3)}`;
      used += i === 0 ? 0 : Math.floor(i / 3) % 3 === 0 ? 200 + (i % 7) : 100 + (i % 7);
      return {
        ...{ account: 'x', provider: 'anthropic', plan: null, window: '7d', minutes: 10_080, resetsS: 600_000 },
        ...{ used, status: null, request: `r${i}`, project: 'p', session: 's', conversation, keyId: '', model: 'a' },
        ...{ startedMs: i * 10_000, endedMs: i * 10_000 + 5_000, weight: 100 },
      };
    });
    const arms = new Map(
      readings.map(({ conversation }) => [
        conversation,
        Number(conversation.slice(1)) % 3 === 0 ? 'control' : 'pruned',
      ]),
    ) as ReadonlyMap<string, Arm>;
    return armsCompared(attribute(readings), arms);
  };

  it('are compared by the share of the limit that a conversation used', () => {
    const held = compared(120);
    expect(held?.conversations).toEqual({ pruned: 80, control: 40 });
    expect(held?.pruned).toBeCloseTo(309e-6, 5);
    expect(held?.control).toBeCloseTo(609e-6, 4);
    expect(held?.interval?.[1]).toBeLessThan(0);
  });

  it('have no interval for few conversations, and no result without held-out conversations', () => {
    expect(compared(6)?.interval).toBeNull();
    const [window] = attribute(readingsOf(6, { a: 1, b: 1 }));
    if (!window) throw new Error('no window');
    expect(armsCompared([window], new Map([['s', 'pruned']]))).toBeNull();
  });
});

describe('the share of a limit that pruning saved', () => {
  const RATES = { a: 0.012, b: 0.004 };

  it('is estimated per model from the saved tokens, and the exact share lies within its interval', () => {
    const readings = readingsOf(150, RATES);
    const [window] = attribute(readings);
    if (!window) throw new Error('no window');
    const ratios = new Map(readings.map(({ request, model }) => [request, model === 'a' ? 0.25 : 0.5]));
    const exact = readings.reduce(
      (sum, { weight, model }) => sum + weight * (model === 'a' ? 0.25 * RATES.a : 0.5 * RATES.b),
      0,
    );
    const saved = savedShare(window, [window], ratios);
    expect(saved).not.toBeNull();
    expect(saved?.low).toBeLessThanOrEqual(exact);
    expect(saved?.high).toBeGreaterThanOrEqual(exact);
    expect(Math.abs((saved?.used ?? 0) / exact - 1)).toBeLessThan(0.1);
  });

  it('is unknown with fewer than 50 changed readings', () => {
    const [window] = attribute(readingsOf(50, RATES));
    if (!window) throw new Error('no window');
    expect(savedShare(window, [window], new Map())).toBeNull();
  });

  it('is zero without savings', () => {
    const [window] = attribute(readingsOf(150, RATES));
    if (!window) throw new Error('no window');
    expect(savedShare(window, [window], new Map())).toEqual({ used: 0, low: 0, high: 0 });
  });
});
