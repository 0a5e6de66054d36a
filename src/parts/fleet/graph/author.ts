import { type Caller, correlationOf, type Hints } from '../hints.ts';
import type { Correlation } from '../ports.ts';

/** The author of a change and its reason, for locks and snapshots. */
export interface Author {
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
  readonly hints?: Hints | undefined;
  readonly caller: Caller;
}

/** The owner of a change; a child that names none is its own owner. */
export function ownerOf({ owner, caller }: Author): string | null {
  return owner ?? caller.childId;
}

/** Correlation of the events of a change. */
export function about({ hints = {}, caller }: Author, graphId: string): Correlation {
  return { ...correlationOf(hints, caller), graphId };
}
