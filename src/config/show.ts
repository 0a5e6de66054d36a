import type { Loaded, Origin } from './load.ts';
import { rows } from './settings.ts';

/** Displayed instead of a secret. */
export const HIDDEN = '***';

/** One setting as `mcp-pruner config` prints it. */
export interface ShownSetting {
  /** The TOML key; for settings that the file may not contain, the variable's name in lower case. */
  readonly key: string;
  /** `***` for a secret. */
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
