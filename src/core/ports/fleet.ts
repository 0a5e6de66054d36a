import type { BoardStore } from './fleet/board.ts';
import type { ChildStore } from './fleet/children.ts';
import type { ContractStore } from './fleet/contracts.ts';
import type { FleetEvent } from './fleet/events.ts';
import type { FieldStore } from './fleet/field.ts';
import type { GraphStore } from './fleet/graphs.ts';
import type { PlanStore } from './fleet/plans.ts';

export type * from './fleet/board.ts';
export type * from './fleet/children.ts';
export type * from './fleet/contracts.ts';
export type * from './fleet/events.ts';
export type * from './fleet/field.ts';
export type * from './fleet/graphs.ts';
export type * from './fleet/plans.ts';

/** All that the fleet keeps. Every method is one transaction with its events, and may reject with `StoreUnavailable`. */
export interface FleetStore {
  readonly graphs: GraphStore;
  readonly board: BoardStore;
  readonly field: FieldStore;
  readonly children: ChildStore;
  readonly plans: PlanStore;
  readonly contracts: ContractStore;
  /** Events that belong to no change of the above. */
  tell(events: readonly FleetEvent[]): Promise<void>;
}
