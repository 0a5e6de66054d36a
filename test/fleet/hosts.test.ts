import { afterEach, describe, expect, it, vi } from 'vitest';
import type { FleetStore } from '../../src/core/ports/fleet.ts';
import { Children } from '../../src/fleet/children/children.ts';
import { Places } from '../../src/fleet/children/places.ts';
import type { ProcessEnd, Processes } from '../../src/fleet/children/processes.ts';
import { aChild } from '../contract/fleet-store.suite.ts';
import { manualClock } from '../contract/store.suite.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { openStore, tempPath } from '../store/helpers.ts';

const PID = 4242;

/** A machine that has a process of the one number that all machines have here. */
class Machine implements Processes {
  readonly canLook = true;
  readonly signals: string[] = [];
  readonly #began: string;
  #end: (end: ProcessEnd) => void = () => undefined;

  constructor(began: string) {
    this.#began = began;
  }

  async start() {
    const ended = new Promise<ProcessEnd>((resolve) => {
      this.#end = resolve;
    });
    return { pid: PID, ended };
  }

  startOf(): string {
    return this.#began;
  }

  signal(_group: number, signal: NodeJS.Signals | 0): boolean {
    this.signals.push(String(signal));
    this.#end({ exitCode: null, signal: String(signal) });
    return true;
  }

  load(): null {
    return null;
  }

  findByEnvironment(): null {
    return null;
  }
}

const clock = manualClock();

function childrenOn(host: string, store: FleetStore, processes: Processes): Children {
  const folder = tempFolder();
  let tokens = 0;
  return new Children({
    ...{ store, clock, processes, folder },
    places: new Places([process.execPath], [folder], ''),
    newId: () => 'id',
    newToken: () => `${host}${++tokens}`.padStart(32, '0'),
    instanceId: `server@${host}`,
    pid: process.pid,
    url: () => 'http://127.0.0.1:9',
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
}

async function fleetStore(): Promise<FleetStore> {
  const store = await openStore(tempPath(), { clock }).fleet();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] });
  return store;
}

afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;

describe('a child of a server on another host', () => {
  it('is ended by its own server when somebody cancels it here, and no process here of its number is touched', async () => {
    const store = await fleetStore();
    const [there, here] = [new Machine('then'), new Machine('another time')];
    const [owner, other] = [childrenOn('there', store, there), childrenOn('here', store, here)];
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

  it('is left to that server while it is heard of, and lost a while after it is not', async () => {
    const store = await fleetStore();
    const record = aChild('c', { state: 'running', instanceId: 'server@there', pid: PID, processStart: 'then' });
    await store.children.insert({ record, spec: {} }, 10);
    await store.children.heartbeat({ instanceId: 'server@there', pid: 1, url: '' });
    const here = new Machine('then');
    const other = childrenOn('here', store, here);
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
