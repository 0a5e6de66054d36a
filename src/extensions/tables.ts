import { fleetTables } from '../parts/fleet/tables/schema.ts';
import type { MovedRow } from '../store/move/tables.ts';
import type { Steps } from '../store/sql/steps.ts';

/** The tables of an extension. The store creates them in every database, whether the extension is on or off. */
export interface ExtensionTables {
  /** Definitions in Common SQL. */
  readonly common: string;
  /** Further SQL for SQLite, such as triggers. PostgreSQL's is in `postgres-tables.ts`. */
  readonly sqlite: string;
  /** As `movedTables`, for `store move`. */
  readonly moved: readonly MovedRow[];
  /** Tables that number their rows, with the numbered column. */
  readonly numbered: Readonly<Record<string, 'id' | 'seq'>>;
  /** Statements in Common SQL that follow a move: they set what no trigger maintains. */
  readonly afterMove: readonly string[];
  /** Deletes what is known of child agents whose conversations are erased, except of running ones. */
  eraseChildren(childIds: readonly string[]): Steps<void>;
}

/** The tables of extensions. */
export const extensionTables: ExtensionTables = fleetTables;
