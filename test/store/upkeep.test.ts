import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Upkeep } from '../../src/store/upkeep.ts';

let sweeps: number[];
let left: number;
let upkeep: Upkeep;
const failures: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  sweeps = [];
  left = 0;
  failures.length = 0;
  const store = {
    sweep: async () => {
      sweeps.push(performance.now());
      if (left < 0) throw new Error('disk');
      return left-- > 0;
    },
  };
  upkeep = new Upkeep(store, (cause) => failures.push(cause));
});

afterEach(() => {
  upkeep.close();
  vi.useRealTimers();
});

describe('the upkeep of a store', () => {
  it('does nothing in the first second of a process, which may end soon', async () => {
    await vi.advanceTimersByTimeAsync(900);
    expect(sweeps).toEqual([]);
  });

  it('begins by itself and repeats', async () => {
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sweeps.length).toBeGreaterThanOrEqual(2);
  });

  it('waits for a pause between requests', async () => {
    await vi.advanceTimersByTimeAsync(100);
    const before = sweeps.length;
    for (let i = 0; i < 40; i++) {
      upkeep.request();
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(sweeps.length).toBe(before);
    await vi.advanceTimersByTimeAsync(1_200);
    expect(sweeps.length).toBe(before + 1);
  });

  it('begins even if requests never pause, and then runs to its end', async () => {
    await vi.advanceTimersByTimeAsync(100);
    const before = sweeps.length;
    left = 20;
    for (let i = 0; i < 160; i++) {
      upkeep.request();
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(sweeps.length - before).toBe(21);
  });

  it('continues after a failure, and reports it', async () => {
    left = -1;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(failures.length).toBeGreaterThanOrEqual(2);
  });

  it('stops when it is closed', async () => {
    upkeep.close();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(sweeps).toEqual([]);
  });
});
