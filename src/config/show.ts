import type { Loaded, Origin } from './load.ts';
import { pruningSettings } from './settings/pruning.ts';
import { type Setting, snakeCase } from './settings/setting.ts';
import { toolsSettings } from './settings/tools.ts';
import type { Settings, SettingTable } from './settings.ts';
import { isTable } from './toml.ts';

/** Shown instead of a secret. */
export const HIDDEN = '***';

interface ShownSetting {
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
      key:
        setting.toml ??
        (setting.onlyFields ? snakeCase(key) : setting.env[0].toLowerCase().replace(/^mcp_pruner_/, '')),
      value: shownValue(value, setting),
      origin: origins[key],
    };
  });
}

/** A value as it may be displayed. Lists are no secrets. */
function shownValue(value: unknown, { secret, fields = {} }: Setting<unknown>): unknown {
  if (secret !== true || value === null || Array.isArray(value)) return value;
  if (!isTable(value)) return HIDDEN;
  const entries = Object.entries(value).map(([name, one]) => {
    const isOpen = one === null || Array.isArray(one) || fields[name]?.shown;
    return [name, isOpen ? one : HIDDEN];
  });
  return Object.fromEntries(entries);
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
      value: shownValue(value, setting),
      isDefault: from === 'default',
      from: from === 'default' ? 'default' : from === 'implied' ? `because of ${name}` : `${FROM[from]} ${name}`,
      doc: setting.doc,
      unit: setting.unit ?? '',
    };
  });
}

const FROM = { file: 'file', env: 'environment', flag: 'option' } as const;
