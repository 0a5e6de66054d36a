import { describe, expect, it } from 'vitest';
import { Turns } from '../../src/core/decide/turns.ts';

/** Holds the thread up for so long and notes that it was done. */
function note<T>(into: T[], what: T, ms: number): T {
  const end = performance.now() + ms;
  while (performance.now() < end);
  into.push(what);
  return what;
}

describe('long pieces of work that run at the same time', () => {
  it('let other work run in between', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const timer = setInterval(() => order.push('else'), 1);
    await Promise.all(Array.from({ length: 8 }, () => turns.run(() => note(order, 'piece', 25))));
    clearInterval(timer);
    expect(order.filter((entry) => entry === 'piece')).toHaveLength(8);
    // The first two may follow one another: nobody had worked yet.
    expect(order.join(' ')).not.toMatch(/piece piece piece/);
  });

  it('run in the order of their requests, each with its own result', async () => {
    const turns = new Turns();
    const done: number[] = [];
    const results = await Promise.all([0, 1, 2, 3, 4].map((n) => turns.run(() => note(done, n, 5))));
    expect(results).toEqual([0, 1, 2, 3, 4]);
    expect(done).toEqual([0, 1, 2, 3, 4]);
  });

  it('do not block each other if one fails', async () => {
    const turns = new Turns();
    const fails = (): never => {
      note([], 0, 25);
      throw new Error('boom');
    };
    const pieces = [fails, fails, () => 'fine'].map(async (piece) => turns.run(piece));
    const ends = await Promise.allSettled(pieces);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });

  it('run immediately if there is little to do', () => {
    const turns = new Turns();
    let done = 0;
    for (let i = 0; i < 100; i++) void turns.run(() => done++);
    expect(done).toBe(100);
  });
});
