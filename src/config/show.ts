import type { Loaded, Origin } from './load.ts';
import { pruningSettings } from './settings/pruning.ts';
import { toolsSettings } from './settings/tools.ts';
import type { Settings, SettingTable } from './settings.ts';

/** Shown instead of a secret. */
export const HIDDEN = '***';

/** One setting as `mcp-pruner config` prints it. */
export interface ShownSetting {
  /** TOML key; for settings that the file may not contain, the variable's name in lower case. */
  readonly key: string;
  /** `***` for a secret. */
  readonly value: unknown;
  readonly origin: Origin;
}

/** The effective configuration, with masked secrets, in table order. */
export function shownSettings({ settings, origins, table }: Omit<Loaded, 'warnings' | 'configFile'>): ShownSetting[] {
  return table.rows.map(({ key, setting }) => {
    const value = settings[key];
    return {
      key: setting.toml ?? setting.env[0].toLowerCase().replace(/^mcp_pruner_/, ''),
      value: setting.secret && value !== null ? HIDDEN : value,
      origin: origins[key],
    };
  });
}

/** Settings about requests; all others are about the server itself, such as addresses and paths. */
const OF_REQUESTS: ReadonlySet<string> = new Set(Object.keys({ ...pruningSettings, ...toolsSettings }));

/** Settings in force with their source in words, without secrets. @param isNarrow - omits the server's settings */
export function settingsInWords(
  settings: Settings,
  { rows }: SettingTable,
  loaded: Pick<Loaded, 'origins'> | undefined,
  isNarrow: boolean,
) {
  const shown = isNarrow ? rows.filter(({ key }) => OF_REQUESTS.has(key)) : rows;
  return shown.map(({ key, setting }) => {
    const value = settings[key];
    const { from, name } = loaded?.origins[key] ?? { from: 'default', name: '' };
    return {
      key: setting.toml ?? setting.env[0],
      env: setting.env[0],
      value: setting.secret && value !== null ? HIDDEN : value,
      isDefault: from === 'default',
      from: from === 'default' ? 'default' : from === 'implied' ? `because of ${name}` : `${FROM[from]} ${name}`,
      doc: setting.doc,
      unit: setting.unit ?? '',
    };
  });
}

const FROM = { file: 'file', env: 'environment', flag: 'option' } as const;
