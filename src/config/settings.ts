import { earlier, type Fields, listOf, onOff } from './rules.ts';
import { backendsSettings } from './settings/backends.ts';
import { cloudSettings } from './settings/clouds.ts';
import { keepingSettings } from './settings/keeping.ts';
import { ledgerSettings } from './settings/ledger.ts';
import { operationSettings } from './settings/operation.ts';
import { providerKeySettings } from './settings/provider-keys.ts';
import { pruningSettings } from './settings/pruning.ts';
import { serverSettings } from './settings/server.ts';
import { type Feature, type Features, named, type Row, type Setting, snakeCase } from './settings/setting.ts';
import { DEFAULT_FEATURES, ownFeatures, toolsSettings } from './settings/tools.ts';

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
  readonly features?: Features;
  readonly implied?: (values: Settings) => readonly Implied[];
  /** Why a server must not start with these settings, in one line, or `null`. */
  readonly problem?: (settings: Settings) => string | null;
  /** Setting with which the part authenticates every caller, so that no token is needed. */
  readonly guard?: SettingKey;
}

export interface SettingRow {
  readonly key: SettingKey;
  readonly setting: Setting<unknown>;
}

/** All settings of an edition. `docs/configuration.md` and `config/default.toml` are generated from this table. */
export interface SettingTable {
  readonly rows: readonly SettingRow[];
  readonly features: readonly NamedFeature[];
  readonly parts: readonly PartSettings[];
}

/** A feature with the key that `mcp_info` reports and the name that `enable` accepts. */
interface NamedFeature extends Feature {
  readonly key: string;
  readonly name: string;
}

export function settingTable(parts: readonly PartSettings[]): SettingTable {
  const features = [ownFeatures, ...parts.map((part) => part.features ?? {})].flatMap((group) =>
    Object.entries(group).map(([key, feature]) => ({ ...feature, key, name: featureName(key) })),
  );
  const names = features.map(({ name }) => name);
  const enable = { rule: listOf([...names, ...names.map((name) => `-${name}`)]), fields: switchesOf(features) };
  const rows = [ownRows, ...parts.map((part) => part.rows)].flatMap((group) =>
    Object.entries(group).map(([key, row]) => {
      const setting = named(key, row as Row<unknown>);
      return { key: key as SettingKey, setting: key === 'enable' ? { ...setting, ...enable } : setting };
    }),
  );
  return { rows, features, parts };
}

/** The name by which `enable` knows a feature. */
export function featureName(key: string): string {
  return snakeCase(key).replace('enable_', '').replaceAll('_', '-');
}

/** Earlier switches, one per feature. */
function switchesOf(features: readonly NamedFeature[]): Fields {
  return Object.fromEntries(
    features.map(({ key, name, doc }) => {
      const field = { rule: onOff(), fallback: false, doc, ...earlier(snakeCase(key).toUpperCase()) };
      return [name, field];
    }),
  );
}

/** Features in force: defaults and `listed` with what they imply, without those listed as `-name`. */
export function featuresOn({ features }: SettingTable, listed: readonly string[]): string[] {
  const without = new Set(listed.filter((word) => word.startsWith('-')).map((word) => word.slice(1)));
  const on = new Set<string>();
  const add = (name: string): void => {
    if (on.has(name) || without.has(name)) return;
    on.add(name);
    for (const other of features.find((one) => one.name === name)?.implies ?? []) add(other);
  };
  for (const word of [...DEFAULT_FEATURES, ...listed]) if (!word.startsWith('-')) add(word);
  return [...on];
}

/** All variables that give a setting or a part of it. */
export function variablesOf({ env, fields = {} }: Setting<unknown>): string[] {
  return [...new Set([...env, ...Object.values(fields).flatMap((field) => field.env ?? [])])];
}

/** All keys of the file that give a setting or a part of it. */
export function keysOf({ toml, fields = {}, onlyFields }: Setting<unknown>): string[] {
  return [onlyFields ? null : toml, ...Object.values(fields).map((field) => field.toml)].filter(
    (key) => typeof key === 'string',
  );
}

/** Variables with our prefix that are not settings but are used by this program. */
export const otherVariables: readonly string[] = [
  'MCP_PRUNER_CONFIG',
  'MCP_PRUNER_CWD',
  'MCP_PRUNER_KEY',
  'MCP_PRUNER_RUN_SOCKET',
];
