import { type Sql, type Transactions, writesInTurn } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent, FleetStore } from '../ports.ts';
import { StoredBoard } from './board.ts';
import { StoredChildren } from './children.ts';
import { StoredContracts } from './contracts.ts';
import { StoredField } from './field.ts';
import { StoredGraphs } from './graphs.ts';
import { StoredPlans } from './plans.ts';
import { recordEvents } from './record.ts';

/** `FleetStore` on the tables of either database. */
export class StoredFleet implements FleetStore {
  readonly graphs: StoredGraphs;
  readonly board: StoredBoard;
  readonly field: StoredField;
  readonly children: StoredChildren;
  readonly plans: StoredPlans;
  readonly contracts: StoredContracts;
  readonly #access: Transactions;

  /** Writes are serialised, so that checked conditions are still true at the write, and versions are consecutive. */
  constructor(sql: Sql) {
    const access = writesInTurn(sql, 'fleet');
    this.#access = access;
    this.graphs = new StoredGraphs(access);
    this.board = new StoredBoard(access);
    this.field = new StoredField(access);
    this.children = new StoredChildren(access);
    this.plans = new StoredPlans(access);
    this.contracts = new StoredContracts(access);
  }

  async record(events: readonly FleetEvent[]): Promise<void> {
    if (events.length > 0) await this.#access.write((nowMs) => recordEvents(events, nowMs));
  }
}
