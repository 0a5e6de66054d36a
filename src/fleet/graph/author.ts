import type { Correlation } from '../../core/ports/fleet.ts';
import { type Caller, correlationOf, type Hints } from '../hints.ts';

/** Who changes a graph, and why, for lock and snapshot. */
export interface Author {
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
  readonly hints?: Hints | undefined;
  readonly caller: Caller;
}

/** A child that names no owner is its own. */
export function ownerOf({ owner, caller }: Author): string | null {
  return owner ?? caller.childId;
}

/** What events of a change are about. */
export function about({ hints = {}, caller }: Author, graphId: string): Correlation {
  return { ...correlationOf(hints, caller), graphId };
}
