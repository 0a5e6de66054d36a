import type { BoardStore } from './ports/board.ts';
import type { ChildStore } from './ports/children.ts';
import type { ContractStore } from './ports/contracts.ts';
import type { FleetEvent } from './ports/events.ts';
import type { FieldStore } from './ports/field.ts';
import type { GraphStore } from './ports/graphs.ts';
import type { PlanStore } from './ports/plans.ts';

export type * from './ports/board.ts';
export type * from './ports/children.ts';
export type * from './ports/contracts.ts';
export type * from './ports/events.ts';
export type * from './ports/field.ts';
export type * from './ports/graphs.ts';
export type * from './ports/plans.ts';

/**
 * Everything that the fleet stores. Every method is one transaction with its events, and may reject with
 * `StoreUnavailable`.
 */
export interface FleetStore {
  readonly graphs: GraphStore;
  readonly board: BoardStore;
  readonly field: FieldStore;
  readonly children: ChildStore;
  readonly plans: PlanStore;
  readonly contracts: ContractStore;
  /** Records events that belong to no change through the stores above. */
  record(events: readonly FleetEvent[]): Promise<void>;
}
