import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Upkeep } from '../../src/store/upkeep.ts';

let sweeps: number[];
let wakes: number;
let left: number;
let pressed: boolean;
let failing: boolean;
let upkeep: Upkeep;
const failures: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  sweeps = [];
  wakes = 0;
  left = 0;
  pressed = false;
  failing = false;
  failures.length = 0;
  const store = {
    sweep: async () => {
      sweeps.push(performance.now());
      if (left < 0) throw new Error('disk');
      if (left === 0) return false;
      left--;
      return true;
    },
    pressed: () => {
      wakes++;
      return pressed;
    },
    failing: () => failing,
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

  it('starts automatically, and then sleeps until a request was served', async () => {
    await vi.advanceTimersByTimeAsync(600_000);
    expect(sweeps.length).toBe(1);
    upkeep.request();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(sweeps.length).toBe(2);
    const before = wakes;
    await vi.advanceTimersByTimeAsync(3 * 3_600_000);
    expect(wakes - before).toBe(3);
  });

  it('sweeps at most once a minute, and once more after the last request', async () => {
    for (let second = 0; second < 180; second += 3) {
      upkeep.request();
      await vi.advanceTimersByTimeAsync(3_000);
    }
    expect(sweeps.length).toBe(3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sweeps.length).toBe(4);
  });

  it('sweeps an idle process once an hour, because data expires there as well', async () => {
    await vi.advanceTimersByTimeAsync(3 * 3_600_000 + 60_000);
    expect(sweeps.length).toBe(4);
  });

  it('does not wait for a minute while the store is too large or writes fail', async () => {
    await vi.advanceTimersByTimeAsync(5_000);
    pressed = true;
    upkeep.request();
    await vi.advanceTimersByTimeAsync(1_500);
    expect(sweeps.length).toBe(2);
    pressed = false;
    failing = true;
    upkeep.request();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sweeps.length).toBeGreaterThanOrEqual(5);
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
