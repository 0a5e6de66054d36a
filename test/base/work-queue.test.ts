import { describe, expect, it } from 'vitest';
import { WorkQueue } from '../../src/base/work-queue.ts';

describe('a queue of background work', () => {
  it('runs its work in order, and continues after a failure', async () => {
    const failures: string[] = [];
    const queue = new WorkQueue({
      maxBytes: 10_000,
      reason: 'not_noted',
      onFailure: (reason) => failures.push(reason),
    });
    const done: number[] = [];
    queue.add(0, async () => void done.push(1));
    queue.add(0, () => Promise.reject(new Error('broken')));
    queue.add(0, async () => void done.push(2));
    await queue.flush();
    expect([done, failures]).toEqual([[1, 2], ['not_noted']]);
  });

  it('drops work beyond its limit of waiting bytes, and accepts work again afterwards', async () => {
    const queue = new WorkQueue({ maxBytes: 10_000, reason: 'not_noted', onFailure: () => {} });
    const nothing = async (): Promise<void> => {};
    expect(queue.add(50_000, nothing)).toBe(true); // alone, it fits whatever its size
    expect(queue.add(1, nothing)).toBe(false);
    await queue.flush();
    await new Promise((resolve) => setImmediate(resolve));
    expect([queue.add(8_000, nothing), queue.add(8_000, nothing), queue.add(0, nothing)]).toEqual([true, false, true]);
  });
});
