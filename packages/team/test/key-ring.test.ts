import { setImmediate as soon } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { aKey } from '../../../test/contract/keys.suite.ts';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { manualClock, openStore } from '../../../test/helpers/rewriter.ts';
import { until } from '../../../test/helpers/until.ts';
import { KeyRing, type KeyRingOptions } from '../src/keys/key-ring.ts';

const NEVER_MS = 2 ** 31 - 1;
const KEY = aKey('a', { createdMs: 0 });

/** A ring over the keys of a store; `notify` reports changes to it. */
async function open(over: Partial<KeyRingOptions>) {
  const clock = manualClock();
  const keys = await openStore(':memory:', clock).keys();
  await keys.create([KEY]);
  let notify = (): void => {};
  const onKeys = (listener: () => void) => {
    notify = listener;
    return () => {};
  };
  const ring = new KeyRing({ keys: async () => keys, clock, onKeys, onFailure: () => {}, pollMs: NEVER_MS, ...over });
  afterwards(() => ring.close());
  await ring.start();
  expect(ring.find(KEY.hash)).toMatchObject({ id: KEY.id });
  return { ring, keys, clock, notify: () => notify() };
}

describe('the keys loaded by a process', () => {
  it('are dropped on a notification of a change, even right after a poll', async () => {
    let hold: Promise<void> | null = null;
    let go = (): void => {};
    const real = await open({});
    const slow = {
      generation: async () => {
        const before = await real.keys.generation();
        await hold;
        return before;
      },
      changed: (...page: Parameters<typeof real.keys.changed>) => real.keys.changed(...page),
      touch: async () => {},
    };
    const { ring, notify } = await open({ keys: async () => slow });
    hold = new Promise((resolve) => {
      go = resolve;
    });
    const looking = ring.poll(); // has asked, and not heard yet
    await soon();
    await real.keys.revoke(KEY.id, 1);
    notify();
    go();
    await looking;
    await until(() => ring.find(KEY.hash) === 'key_revoked');
    expect(ring.byId(KEY.id)).toBe('key_revoked');
  });

  it('require one query a minute in an idle process, and become invalid when they expire', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    afterwards(() => vi.useRealTimers());
    const atStart = 1_700_000_000_000;
    const clock = { nowMs: () => atStart + performance.now() };
    const keys = await openStore(':memory:', clock).keys();
    const expiring = aKey('b', { createdMs: atStart, expiresMs: clock.nowMs() + 90_500 });
    await keys.create([KEY, expiring]);
    let queries = 0;
    const counted = {
      generation: () => {
        queries++;
        return keys.generation();
      },
      changed: (...page: Parameters<typeof keys.changed>) => keys.changed(...page),
      touch: async () => {},
    };
    const ring = new KeyRing({ keys: async () => counted, clock, onKeys: () => () => {}, onFailure: () => {} });
    await ring.start();
    let found: unknown = null;
    ring.onPolled(() => {
      found = ring.find(expiring.hash);
    });
    await vi.advanceTimersByTimeAsync(90_000);
    expect([queries, found]).toEqual([2, expect.objectContaining({ id: expiring.id })]);
    await vi.advanceTimersByTimeAsync(500);
    expect([queries, found]).toEqual([3, 'key_expired']);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(queries).toBe(3 + 10);
    await ring.close();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(queries).toBe(3 + 10);
  });

  it('are dropped at once after a change by this process', async () => {
    const store = openStore(':memory:');
    const keys = await store.keys();
    await keys.create([KEY]);
    const clock = { nowMs: () => 0 };
    const onKeys = (listener: () => void) => store.onKeys(listener);
    const ring = new KeyRing({ keys: async () => keys, clock, onKeys, onFailure: () => {}, pollMs: NEVER_MS });
    afterwards(() => ring.close());
    await ring.start();
    await keys.revoke(KEY.id, 1);
    await until(() => ring.find(KEY.hash) === 'key_revoked');
  });

  it('are dropped by polling if no notification arrives', async () => {
    const { ring, keys } = await open({ pollMs: 5 });
    let looks = 0;
    ring.onPolled(() => {
      looks++;
    });
    await keys.revoke(KEY.id, 1);
    await until(() => ring.find(KEY.hash) === 'key_revoked');
    expect(looks).toBeGreaterThan(0);
  });
});
