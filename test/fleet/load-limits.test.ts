import { afterEach, describe, expect, it, vi } from 'vitest';
import { Children } from '../../src/fleet/children/children.ts';
import { Places } from '../../src/fleet/children/places.ts';
import type { ProcessEnd, Processes } from '../../src/fleet/children/processes.ts';
import { manualClock } from '../contract/store.suite.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { openStore, tempPath } from '../store/helpers.ts';

const PID = 4242;
const SECOND_MS = 1_000;

/** A machine with one process, whose load the test sets. */
class FakeMachine implements Processes {
  readonly canLook = true;
  readonly signals: string[] = [];
  /** CPU time that it takes in each second, in milliseconds. */
  cpuMsEachSecond = 0;
  #cpuMs = 0;
  #end: (end: ProcessEnd) => void = () => undefined;

  async start() {
    const ended = new Promise<ProcessEnd>((resolve) => {
      this.#end = resolve;
    });
    return { pid: PID, ended };
  }

  startOf(): string {
    return 'then';
  }

  signal(_group: number, signal: NodeJS.Signals | 0): boolean {
    this.signals.push(String(signal));
    this.#end({ exitCode: null, signal: String(signal) });
    return true;
  }

  load() {
    this.#cpuMs += this.cpuMsEachSecond;
    return { memoryMb: 10, cpuMs: this.#cpuMs };
  }

  findByEnvironment(): null {
    return null;
  }
}

async function startLimited(machine: FakeMachine) {
  const folder = tempFolder();
  const clock = manualClock();
  let tokens = 0;
  const children = new Children({
    store: await openStore(tempPath(), { clock }).fleet(),
    clock,
    processes: machine,
    places: new Places([process.execPath], [folder], ''),
    newId: () => 'id',
    newToken: () => String(++tokens).padStart(32, '0'),
    instanceId: 'here',
    pid: process.pid,
    url: () => 'http://127.0.0.1:9',
    folder,
    env: {},
    handedOn: [],
    maxChildren: 4,
    graceMs: 100,
    ceilings: { wallclockMs: 0, memoryMb: 0, cpuPercent: 0 },
    launch: () => null,
    costOf: () => null,
    onFailure: (what, cause) => {
      throw new Error(what, { cause });
    },
  });
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

describe('a limit of CPU', () => {
  it('ends a child after three means of ten seconds above it, and not for a peak', async () => {
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
