import type { RequestListener } from 'node:http';
import type { Settings, SettingTable } from '../config/settings.ts';
import type { Clock } from '../core/ports.ts';
import type { PartTools } from '../mcp/part-tools.ts';
import type { StoreHandle, StoreOptions } from '../store/handle.ts';
import type { Side } from '../store/move/tables.ts';
import type { PartTables } from '../store/part-tables.ts';
import type { ViewParts } from './mounts.ts';
import type { Part, Transport } from './part.ts';

/** The optional parts that a program consists of, as rows. The entry hands it in. */
export interface Edition {
  readonly settings: SettingTable;
  /** In the order in which their doors admit requests. */
  readonly parts: readonly Part[];
  /** Builds the page over the services; its files load with the first request. Absent: there is no page. */
  readonly page?: (parts: ViewParts) => Promise<RequestListener>;
  /** Tables in addition to the product's own. */
  readonly tables: readonly PartTables[];
  /** A database server as the store. Absent: the store is a file. */
  readonly database?: DatabaseServer;
  /**
   * Whether servers compile the engine's code before the first request needs it, half a second of CPU. Default: yes.
   */
  readonly warmsUp?: boolean;
}

/** A kind of store on a database server. */
export interface DatabaseServer {
  open(options: StoreOptions & { readonly url: string }): Promise<StoreHandle>;
  /** The tables of a store, for `store move`. @throws StoreUnavailable, or an Error about the URL */
  openSide(url: string, readonly: boolean, clock: Clock, parts: readonly PartTables[]): Promise<Side>;
}

/** Facts about the tools of all parts. */
export function partTools({ parts }: Pick<Edition, 'parts'>): readonly PartTools[] {
  return parts.flatMap(({ tools }) => tools ?? []);
}

/** The parts that a process opens. */
export function partsOn({ parts }: Edition, settings: Settings, transport: Transport): readonly Part[] {
  return parts.filter((part) => part.isOn(settings, transport));
}
