import { describe, expect, it } from 'vitest';
import { run, started, together, type Work, waitFor } from '../../src/base/work.ts';

function* sum(...values: (number | Promise<number>)[]): Work<number> {
  let all = 0;
  for (const value of values) all += yield* waitFor(value);
  return all;
}

function* failing(cause: Error | Promise<never>): Work<number> {
  if (cause instanceof Error) throw cause;
  return yield* waitFor(cause);
}

const BOOM = new Error('boom');

describe('work', () => {
  it('that never has to wait gives its result at once, without a promise', () => {
    expect(run(sum(1, 2))).toBe(3);
    expect(run(together([sum(1), sum(2)]))).toEqual([1, 2]);
    expect(() => run(failing(BOOM))).toThrow(BOOM);
  });

  it('waits for each promise that it meets, and continues with its result', async () => {
    const waiting = run(sum(1, Promise.resolve(2), 3, Promise.resolve(4)));
    expect(waiting).toBeInstanceOf(Promise);
    expect(await waiting).toBe(10);
  });

  it('may handle the failure of what it waits for', async () => {
    function* rescued(): Work<string> {
      try {
        yield* failing(Promise.reject(BOOM));
        return 'fine';
      } catch (cause) {
        return (cause as Error).message;
      }
    }
    expect(await run(rescued())).toBe('boom');
    await expect(run(failing(Promise.reject(BOOM)))).rejects.toBe(BOOM);
  });

  it('is started so that any failure is a rejection', async () => {
    await expect(started(failing(BOOM))).rejects.toBe(BOOM);
    expect(await started(sum(1))).toBe(1);
  });

  it('runs together with other work, and all of it fails if one does', async () => {
    let free = (_: number): void => {};
    const held = new Promise<number>((resolve) => {
      free = resolve;
    });
    const both = run(together([sum(held), sum(2)]));
    free(5);
    expect(await both).toEqual([5, 2]);
    await expect(run(together([failing(Promise.reject(BOOM)), failing(BOOM), sum(1)]))).rejects.toBe(BOOM);
  });
});
