import { describe, expect, it } from 'vitest';
import { finishedWords, finishedWork, paidForFinished, type SeamTurn } from '../src/finished-work.ts';
import { pricesOf } from '../src/installed-prices.ts';

const NOW_MS = Date.parse('2026-11-27T10:00:00Z');
const MINUTE_MS = 60_000;
const prices = pricesOf({ prices: null });
const price = prices.of('claude-opus-5', NOW_MS);
const of = (rate: number | undefined, tokens: number): number => ((rate ?? Number.NaN) * tokens) / 1_000_000;

/** A request some minutes ago: words of the user, or results of calls. */
function turn(what: 'words' | 'results', minutesAgo: number, counts: Partial<SeamTurn> = {}): SeamTurn {
  const work = what === 'words' ? { userMessages: 1, calls: 0 } : { userMessages: 0, calls: 2 };
  return {
    ...{ conversationId: 'c', project: 'p', model: 'claude-opus-5', cloud: undefined, client: 'claude-cli/2.1.332' },
    ...{ atMs: NOW_MS - minutesAgo * MINUTE_MS, fresh: 0, write5m: 0, write1h: 0, read: 0, work, ...counts },
  };
}

describe('finished work', () => {
  it('is the whole input of the last request before the newest words of the user', () => {
    const turns = [
      turn('words', 9, { fresh: 20_000 }),
      turn('results', 8, { fresh: 10, write5m: 30_000, read: 120_000 }),
      turn('words', 2, { read: 151_000 }),
      turn('results', 1, { read: 160_000 }),
    ];
    const work = finishedWork(turns, prices, NOW_MS);
    expect(work).toMatchObject({ conversationId: 'c', tokens: 150_010 });
    expect(work?.dollars).toBeCloseTo(of(price?.read, 150_010), 9);
  });

  it('costs the write price once the cache has expired, for five minutes or an hour', () => {
    const before = turn('results', 90, { read: 100_000 });
    const at = (minutes: number, last: Partial<SeamTurn>) =>
      finishedWork([before, turn('words', minutes, last)], prices, NOW_MS)?.dollars ?? Number.NaN;
    expect(at(4, { write5m: 9 })).toBeCloseTo(of(price?.read, 100_000), 9);
    expect(at(6, { write5m: 9 })).toBeCloseTo(of(price?.write5m, 100_000), 9);
    expect(at(59, { write1h: 9 })).toBeCloseTo(of(price?.read, 100_000), 9);
    expect(at(61, { write1h: 9 })).toBeCloseTo(of(price?.write1h, 100_000), 9);
  });

  it('is none without a seam: at the first words, and while the model calls tools', () => {
    expect(finishedWork([turn('words', 1, { fresh: 150_000 })], prices, NOW_MS)).toBeNull();
    expect(finishedWork([turn('words', 2), turn('results', 1)], prices, NOW_MS)).toBeNull();
    const interrupted = { ...turn('words', 1), work: { userMessages: 1, calls: 1 } };
    expect(finishedWork([turn('words', 2), interrupted], prices, NOW_MS)).toBeNull();
  });

  it('has no price for a model without one, and its words say so by leaving it out', () => {
    const turns = [turn('results', 2, { fresh: 187_000 }), { ...turn('words', 1), model: 'my-own' }];
    const work = finishedWork(turns, prices, NOW_MS);
    expect(work).toMatchObject({ tokens: 187_000, dollars: null });
    expect(finishedWords(work)).toBe('187k of finished work: /compact');
  });

  it('is named from 100,000 tokens on, with the command of its client', () => {
    const work = { tokens: 187_400, dollars: 0.0937, client: 'claude-cli/2.1.332' };
    expect(finishedWords(work)).toBe('187k of finished work, $0.09 a turn: /compact');
    expect(finishedWords({ ...work, client: 'GeminiCLI/0.61.0' })).toContain(': /compress');
    expect(finishedWords({ ...work, tokens: 99_999 })).toBeNull();
    expect(finishedWords(null)).toBeNull();
  });

  it('is paid for by each request after the seam, as the front of that request was billed', () => {
    const turns = [
      turn('results', 30, { fresh: 100_000 }),
      turn('words', 20, { read: 100_000, write5m: 5_000 }), // read whole
      turn('results', 10, { read: 40_000, write5m: 70_000 }), // the cache had expired after 40,000
    ];
    const paid = paidForFinished(turns, prices, 0);
    expect(paid).toBeCloseTo(of(price?.read, 140_000) + of(price?.write5m, 60_000), 9);
    expect(paidForFinished(turns, prices, NOW_MS - 15 * MINUTE_MS)).toBeLessThan(paid);
  });
});
