import { setImmediate as soon } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { KeyRing, type KeyRingOptions } from '../../../src/parts/team/keys/key-ring.ts';
import { aKey } from '../../contract/keys.suite.ts';
import { afterwards } from '../../helpers/afterwards.ts';
import { manualClock, openStore } from '../../helpers/rewriter.ts';
import { until } from '../../helpers/until.ts';

const NEVER_MS = 2 ** 31 - 1;
const KEY = aKey('a', { createdMs: 0 });

/** A ring that is told of changes by `notify`, over the keys of a store. */
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

describe('the keys that a process knows', () => {
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
