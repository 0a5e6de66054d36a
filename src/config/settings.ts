import { extensionSettings } from '../extensions/settings.ts';
import { backendsSettings } from './settings/backends.ts';
import { cloudSettings } from './settings/clouds.ts';
import { keepingSettings } from './settings/keeping.ts';
import { ledgerSettings } from './settings/ledger.ts';
import { operationSettings } from './settings/operation.ts';
import { providerKeySettings } from './settings/provider-keys.ts';
import { pruningSettings } from './settings/pruning.ts';
import { serverSettings } from './settings/server.ts';
import { named, type Row, type Setting } from './settings/setting.ts';
import { toolsSettings } from './settings/tools.ts';

/** All settings. `docs/configuration.md` and `config/default.toml` are generated from this table. */
export const table = {
  ...serverSettings,
  ...cloudSettings,
  ...providerKeySettings,
  ...pruningSettings,
  ...keepingSettings,
  ...backendsSettings,
  ...toolsSettings,
  ...extensionSettings,
  ...ledgerSettings,
  ...operationSettings,
};

export type SettingKey = keyof typeof table;

/** The effective configuration: frozen, read once at start and passed on. */
export type Settings = {
  readonly [K in SettingKey]: (typeof table)[K] extends Row<infer T> ? T : never;
};

/** The table as rows, for code that handles all settings alike. */
export const rows: readonly { readonly key: SettingKey; readonly setting: Setting<unknown> }[] = Object.entries(
  table,
).map(([key, row]) => ({ key: key as SettingKey, setting: named(key, row as Row<unknown>) }));

/** Variables with the same prefix that are not settings but are used by this program. */
export const otherVariables: readonly string[] = [
  'MCP_PRUNER_CONFIG',
  'MCP_PRUNER_CWD',
  'MCP_PRUNER_KEY',
  'MCP_PRUNER_RUN_SOCKET',
];
