import { afterEach, describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../test/contract/store.suite.ts';
import { openStore, tempPath } from '../../../test/store/helpers.ts';
import { FleetStore } from '../src/tables/fleet-store.ts';
import { childrenOn, FakeMachine } from './fake-machine.ts';

const SECOND_MS = 1_000;

async function startLimited(machine: FakeMachine) {
  const clock = manualClock();
  const children = childrenOn('here', new FleetStore(openStore(tempPath(), { clock }).sql), clock, machine);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] });
  await children.open();
  const limits = { cpu_percent: 50 };
  await children.create({ child_id: 'c', command: process.execPath, limits }, {}, { childId: null });
  return {
    state: () => children.status('c', 0, new AbortController().signal),
    close: () => children.close(),
  };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('a CPU limit', () => {
  it('ends a child after three 10-second averages above the limit, but not after a short peak', async () => {
    const machine = new FakeMachine();
    const { state, close } = await startLimited(machine);
    machine.cpuMsEachSecond = 900;
    await vi.advanceTimersByTimeAsync(15 * SECOND_MS);
    machine.cpuMsEachSecond = 100;
    await vi.advanceTimersByTimeAsync(25 * SECOND_MS);
    expect(await state()).toMatchObject({ state: 'running', stop_reason: null, limits_unenforced: [] });
    machine.cpuMsEachSecond = 900;
    await vi.advanceTimersByTimeAsync(45 * SECOND_MS);
    expect(await state()).toMatchObject({ state: 'killed', signal: 'SIGTERM', stop_reason: 'limit:cpu_percent' });
    expect(machine.signals[0]).toBe('SIGTERM');
    await close();
  });
});
