import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';

const LONG_MS = 60_000;

describe('the byte budget for simultaneous rewrites', () => {
  it('is granted until it is used up, then to waiting requests in order', async () => {
    const room = new ByteBudget(10);
    const first = await room.take(6, LONG_MS);
    const order: string[] = [];
    const second = Promise.resolve(room.take(6, LONG_MS)).then((release) => {
      order.push('second');
      return release;
    });
    const third = Promise.resolve(room.take(1, LONG_MS)).then((release) => {
      order.push('third'); // it would fit, but came later
      return release;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    first?.();
    (await second)?.();
    (await third)?.();
    expect(order).toEqual(['second', 'third']);
  });

  it('limits each of several holders to half, and next serves the waiting holder with the least bytes', async () => {
    const room = new ByteBudget(10);
    const greedy = [await room.take(4, LONG_MS, 'greedy'), room.take(4, 5, 'greedy')];
    expect(await greedy[1]).toBeNull();
    const modest = await room.take(4, LONG_MS, 'modest');
    expect(modest).not.toBeNull();
    const order: string[] = [];
    const waiting = ['greedy', 'third'].map((holder) =>
      Promise.resolve(room.take(3, LONG_MS, holder)).then((release) => {
        order.push(holder);
        return release;
      }),
    );
    modest?.();
    expect(await waiting[1]).not.toBeNull();
    expect(order).toEqual(['third']);
    (await greedy[0])?.();
    expect(await waiting[0]).not.toBeNull();
  });

  it('is granted to a body that exceeds it if no other body is in progress', async () => {
    const room = new ByteBudget(10);
    const large = await room.take(100, LONG_MS);
    expect(large).not.toBeNull();
    expect(await room.take(1, 5)).toBeNull();
    large?.();
    expect(await room.take(1, 5)).not.toBeNull();
  });

  it('is refused to a request whose wait timed out, and the next request is served', async () => {
    const room = new ByteBudget(10);
    await room.take(6, LONG_MS);
    const refused = room.take(6, 5);
    const small = room.take(3, LONG_MS);
    expect(await refused).toBeNull();
    expect(await small).not.toBeNull();
  });
});
