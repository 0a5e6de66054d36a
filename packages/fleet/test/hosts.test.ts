import { afterEach, describe, expect, it, vi } from 'vitest';
import { aChild } from '../../../test/contract/fleet-store.suite.ts';
import { manualClock } from '../../../test/contract/store.suite.ts';
import { openStore, tempPath } from '../../../test/store/helpers.ts';
import { FleetStore } from '../src/tables/fleet-store.ts';
import { childrenOn, FakeMachine, PID } from './fake-machine.ts';

const clock = manualClock();

async function fleetStore(): Promise<FleetStore> {
  const store = new FleetStore(openStore(tempPath(), { clock }).sql);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] });
  return store;
}

afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;

describe('a child of a server on another host', () => {
  it('is ended only by its own server if it is cancelled here, even if a local process has the same PID', async () => {
    const store = await fleetStore();
    const [there, here] = [new FakeMachine('then'), new FakeMachine('another time')];
    const [owner, other] = [childrenOn('there', store, clock, there), childrenOn('here', store, clock, here)];
    await Promise.all([owner.open(), other.open()]);
    await owner.create({ child_id: 'c', command: process.execPath }, {}, { childId: null });
    const cancelled = other.cancel('c', 5_000, { reason: 'enough' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await cancelled).toMatchObject({ stop_reason: 'enough' });
    expect(await owner.status('c', 0, never)).toMatchObject({ state: 'killed', signal: 'SIGTERM' });
    expect(there.signals[0]).toBe('SIGTERM');
    expect(here.signals).toEqual([]);
    await Promise.all([owner.close(), other.close()]);
  });

  it('is left to its server while that server reports, and counts as lost some time after it stops', async () => {
    const store = await fleetStore();
    const record = aChild('c', { state: 'running', instanceId: 'server@there', pid: PID, processStart: 'then' });
    await store.children.insert({ record, spec: {} }, 10);
    await store.children.heartbeat({ instanceId: 'server@there', pid: 1, url: '' });
    const here = new FakeMachine('then');
    const other = childrenOn('here', store, clock, here);
    await other.open();
    clock.now += 60_000;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await other.status('c', 0, never)).toMatchObject({ state: 'running' });
    clock.now += 6 * 60_000;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await other.status('c', 0, never)).toMatchObject({ state: 'lost' });
    expect(here.signals).toEqual([]);
    await other.close();
  });
});
