import type { Loaded, Origin } from './load.ts';
import { rows } from './settings.ts';

/** Stands for a secret that is set. */
export const HIDDEN = '***';

/** One setting as `mcp-pruner config` prints it. */
export interface ShownSetting {
  /** The TOML key, or for what the file may not hold the variable's name in the same spelling. */
  readonly key: string;
  /** A secret that is set reads `***`. */
  readonly value: unknown;
  readonly origin: Origin;
}

/** The effective configuration, secrets masked, in the order of the table. */
export function shownSettings({ settings, origins }: Pick<Loaded, 'settings' | 'origins'>): ShownSetting[] {
  return rows.map(({ key, setting }) => {
    const value = settings[key];
    return {
      key: setting.toml ?? setting.env[0].toLowerCase().replace(/^mcp_pruner_/, ''),
      value: setting.secret && value !== null ? HIDDEN : value,
      origin: origins[key],
    };
  });
}
