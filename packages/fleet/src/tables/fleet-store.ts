import { type Sql, type Transactions, writesInTurn } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent } from '../ports.ts';
import { BoardStore } from './board.ts';
import { ChildStore } from './children.ts';
import { ContractStore } from './contracts.ts';
import { FieldStore } from './field.ts';
import { GraphStore } from './graphs.ts';
import { PlanStore } from './plans.ts';
import { recordEvents } from './record.ts';

/**
 * The store of the fleet, on either database. Every method is one transaction including its events, and may reject with
 * `StoreUnavailable`.
 */
export class FleetStore {
  readonly graphs: GraphStore;
  readonly board: BoardStore;
  readonly field: FieldStore;
  readonly children: ChildStore;
  readonly plans: PlanStore;
  readonly contracts: ContractStore;
  readonly #access: Transactions;

  /** Writes are serialised, so that checked conditions are still true at the write, and versions are consecutive. */
  constructor(sql: Sql) {
    const access = writesInTurn(sql, 'fleet');
    this.#access = access;
    this.graphs = new GraphStore(access);
    this.board = new BoardStore(access);
    this.field = new FieldStore(access);
    this.children = new ChildStore(access);
    this.plans = new PlanStore(access);
    this.contracts = new ContractStore(access);
  }

  async record(events: readonly FleetEvent[]): Promise<void> {
    if (events.length > 0) await this.#access.write((nowMs) => recordEvents(events, nowMs));
  }
}
