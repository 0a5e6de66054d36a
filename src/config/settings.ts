import { listOf } from './rules.ts';
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

/** The settings of the product itself. */
const ownRows = {
  ...serverSettings,
  ...cloudSettings,
  ...providerKeySettings,
  ...pruningSettings,
  ...keepingSettings,
  ...backendsSettings,
  ...toolsSettings,
  ...ledgerSettings,
  ...operationSettings,
};

/** Value types of a group of settings. */
export type ValuesOf<Rows> = { readonly [K in keyof Rows]: Rows[K] extends Row<infer T> ? T : never };

/**
 * The effective configuration: frozen, read once at start and passed on. Optional parts add fields by declaration
 * merging: `declare module '…/config/settings.ts' { interface Settings extends ValuesOf<typeof itsRows> {} }`.
 */
export interface Settings extends ValuesOf<typeof ownRows> {}

export type SettingKey = keyof Settings;

/** A value implied by another setting, unless set explicitly. */
export type Implied = readonly [key: SettingKey, value: unknown, because: SettingKey];

/** Settings of an optional part, and their consequences. */
export interface PartSettings {
  readonly rows: object;
  readonly implied?: (values: Settings) => readonly Implied[];
  /** Why a server must not start with these settings, in one line, or `null`. */
  readonly problem?: (settings: Settings) => string | null;
  /** Setting with which the part authenticates every caller, so that no token is needed. */
  readonly guard?: SettingKey;
}

/** A setting with its key. */
export interface SettingRow {
  readonly key: SettingKey;
  readonly setting: Setting<unknown>;
}

/** All settings of an edition. `docs/configuration.md` and `config/default.toml` are generated from this table. */
export interface SettingTable {
  readonly rows: readonly SettingRow[];
  readonly parts: readonly PartSettings[];
}

/** Settings of the product, followed by those of parts. */
export function settingTable(parts: readonly PartSettings[]): SettingTable {
  const rows = [ownRows, ...parts.map((part) => part.rows)].flatMap((group) =>
    Object.entries(group).map(([key, row]) => ({ key: key as SettingKey, setting: named(key, row as Row<unknown>) })),
  );
  const features = rows.flatMap(({ setting }) => (isFeature(setting) ? [setting.toggle] : []));
  const withFeatures = ({ key, setting }: SettingRow): SettingRow =>
    key === 'enable' ? { key, setting: { ...setting, rule: listOf(features) } } : { key, setting };
  return { rows: rows.map(withFeatures), parts };
}

/** Whether a setting toggles a feature that `enable` can name. */
export function isFeature(setting: Setting<unknown>): setting is Setting<unknown> & { readonly toggle: string } {
  return setting.toggle !== undefined && setting.fallback === false;
}

/** Variables with our prefix that are not settings but are used by this program. */
export const otherVariables: readonly string[] = [
  'MCP_PRUNER_CONFIG',
  'MCP_PRUNER_CWD',
  'MCP_PRUNER_KEY',
  'MCP_PRUNER_RUN_SOCKET',
];
