import type { Clock } from 'mcp-pruner/core/ports.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { Children } from '../src/children/children.ts';
import { Places } from '../src/children/places.ts';
import type { ProcessEnd, Processes } from '../src/children/processes.ts';
import type { FleetStore } from '../src/tables/fleet-store.ts';

/** The number of the one process that each machine has. */
export const PID = 4242;

/** A machine with one process, whose load the test sets. */
export class FakeMachine implements Processes {
  readonly canLook = true;
  readonly signals: string[] = [];
  /** CPU time that it takes in each second, in milliseconds. */
  cpuMsEachSecond = 0;
  readonly #began: string;
  #cpuMs = 0;
  #end: (end: ProcessEnd) => void = () => undefined;

  /** @param began - when the process began, as the machine counts */
  constructor(began = 'then') {
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

  load() {
    this.#cpuMs += this.cpuMsEachSecond;
    return { memoryMb: 10, cpuMs: this.#cpuMs };
  }

  findByEnvironment(): null {
    return null;
  }
}

/** Children of a server on a machine of this name. */
export function childrenOn(host: string, store: FleetStore, clock: Clock, processes: Processes): Children {
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
    settable: [],
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
