import type { SettingTable } from '../config/settings.ts';

/** The optional parts that a program consists of, as rows. The entry hands it in. */
export interface Edition {
  readonly settings: SettingTable;
}
