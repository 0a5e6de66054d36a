import type { FleetEvent, FleetStore } from '../../../core/ports/fleet.ts';
import type { Access } from '../access.ts';
import { FileBoard } from './board.ts';
import { FileChildren } from './children.ts';
import { FileContracts } from './contracts.ts';
import { FileField } from './field.ts';
import { FleetAccess } from './fleet-tables.ts';
import { FileGraphs } from './graphs.ts';
import { FilePlans } from './plans.ts';

/** `FleetStore` on the tables of a store's file. */
export class FileFleetStore implements FleetStore {
  readonly graphs: FileGraphs;
  readonly board: FileBoard;
  readonly field: FileField;
  readonly children: FileChildren;
  readonly plans: FilePlans;
  readonly contracts: FileContracts;
  readonly #access: FleetAccess;

  /** @param maxEvents - how many events, and lines of agents, are kept */
  constructor(access: Access, maxEvents: number) {
    this.#access = new FleetAccess(access, maxEvents);
    this.graphs = new FileGraphs(this.#access);
    this.board = new FileBoard(this.#access);
    this.field = new FileField(this.#access);
    this.children = new FileChildren(this.#access);
    this.plans = new FilePlans(this.#access);
    this.contracts = new FileContracts(this.#access);
  }

  async tell(events: readonly FleetEvent[]): Promise<void> {
    if (events.length > 0) await this.#access.write((_tables, _nowMs, tell) => tell(events));
  }
}
