import type { Database } from 'better-sqlite3';
import type { FleetEvent } from '../../../core/ports/fleet.ts';
import type { Access, Work } from '../access.ts';
import type { Tables } from '../tables.ts';
import { BoardTable } from './board-table.ts';
import { ChildTable } from './child-table.ts';
import { ContractTable } from './contract-table.ts';
import { GraphTable } from './graph-table.ts';
import { PlanTable } from './plan-table.ts';
import { PointTable } from './point-table.ts';

/** The fleet's statements on one connection; few servers need them, so that they are prepared with the first use. */
export interface FleetTables {
  readonly graphs: GraphTable;
  readonly board: BoardTable;
  readonly points: PointTable;
  readonly children: ChildTable;
  readonly plans: PlanTable;
  readonly contracts: ContractTable;
}

const prepared = new WeakMap<Database, FleetTables>();

function tablesOn(db: Database): FleetTables {
  const known = prepared.get(db);
  if (known) return known;
  const tables = {
    graphs: new GraphTable(db),
    board: new BoardTable(db),
    points: new PointTable(db),
    children: new ChildTable(db),
    plans: new PlanTable(db),
    contracts: new ContractTable(db),
  };
  prepared.set(db, tables);
  return tables;
}

/** Writes events of the transaction under way. */
export type Tell = (events: readonly FleetEvent[]) => void;

/** Reads and writes of the fleet, each one transaction. */
export class FleetAccess {
  readonly #access: Access;
  readonly #maxEvents: number;

  constructor(access: Access, maxEvents: number) {
    this.#access = access;
    this.#maxEvents = maxEvents;
  }

  read<T>(work: (tables: FleetTables, nowMs: number) => T): Promise<T> {
    return this.#access.read(({ db }, nowMs) => work(tablesOn(db), nowMs));
  }

  /** All of the work and its events, or nothing. */
  write<T>(work: (tables: FleetTables, nowMs: number, tell: Tell, all: Tables) => T): Promise<T> {
    const inside: Work<T> = (tables, nowMs) =>
      work(tablesOn(tables.db), nowMs, (events) => this.#tell(tables, events, nowMs), tables);
    return this.#access.write(inside, { verify: true });
  }

  /** How many entries of logs are kept. */
  get maxEvents(): number {
    return this.#maxEvents;
  }

  #tell({ events: table }: Tables, events: readonly FleetEvent[], nowMs: number): void {
    if (this.#maxEvents === 0 || events.length === 0) return;
    table.add(events.map((event) => ({ ...event, tsMs: nowMs })));
    table.trim(this.#maxEvents, events.length * 2);
  }
}
