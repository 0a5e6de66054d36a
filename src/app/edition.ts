import type { SettingTable } from '../config/settings.ts';
import type { Clock } from '../core/ports.ts';
import type { StoreHandle, StoreOptions } from '../store/handle.ts';
import type { Side } from '../store/move/tables.ts';
import type { PartTables } from '../store/part-tables.ts';

/** The optional parts that a program consists of, as rows. The entry hands it in. */
export interface Edition {
  readonly settings: SettingTable;
  /** Tables besides those of the product. */
  readonly tables: readonly PartTables[];
  /** A database server as the store. Absent: the store is a file. */
  readonly database?: DatabaseServer;
}

/** A kind of store on a database server. */
export interface DatabaseServer {
  open(options: StoreOptions & { readonly url: string }): Promise<StoreHandle>;
  /** The tables of a store, for `store move`. @throws StoreUnavailable, or an Error about the URL */
  openSide(url: string, readonly: boolean, clock: Clock, parts: readonly PartTables[]): Promise<Side>;
}
