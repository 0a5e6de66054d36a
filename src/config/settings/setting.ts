import { onOff, type Rule } from '../rules.ts';

/** A row of the settings table. Default names derive from its key. */
export interface Row<T> {
  /** Environment variables; the first one that is set applies. Default: `MCP_PRUNER_` and the key. */
  readonly env?: readonly [string, ...string[]];
  /** Key in the TOML file; default: the table's key. `null` if only the environment may contain it, as for secrets. */
  readonly toml?: string | null;
  readonly rule: Rule<T>;
  readonly fallback: T;
  /** Description of the default, if it depends on the machine or an empty value needs explanation. */
  readonly fallbackWords?: string;
  readonly unit?: string;
  /** Purpose, in one line. */
  readonly doc: string;
  /** Never displayed, and refused in the TOML file. */
  readonly secret?: true;
  /** Listed first in the documentation, because many people change it. */
  readonly common?: true;
  /** `mcp-pruner serve` option that also sets it. */
  readonly flag?: string;
  /** Whether `mcp-pruner serve` has `--enable-…` and `--disable-…` for it. */
  readonly toggle?: true;
  /** Settings enabled along with it, unless set explicitly. */
  readonly implies?: readonly string[];
  /** Substitute for an invalid word in the environment, with a warning; without a substitute, the start fails. */
  readonly invalidEnvFallback?: T;
}

/** A setting with all its names. */
export interface Setting<T> extends Omit<Row<T>, 'env' | 'toml' | 'toggle'> {
  readonly env: readonly [string, ...string[]];
  /** Key below `[mcp_pruner]`. */
  readonly toml: string | null;
  /** Name of its switch, after `--enable-` and `--disable-`. */
  readonly toggle?: string;
}

/** Creates a row of the table. */
export function setting<T>(
  row: Omit<Row<T>, 'fallback' | 'invalidEnvFallback'> & { fallback: NoInfer<T>; invalidEnvFallback?: NoInfer<T> },
) {
  return row as Row<T>;
}

/** Row of an optional feature: off unless the feature, or a setting that implies it, is enabled. */
export function optionalFeature(doc: string, implies: readonly string[] = []) {
  return setting({ rule: onOff(), fallback: false, toggle: true, doc, implies });
}

/** Derives a setting's names: `enableBulk` becomes `MCP_PRUNER_ENABLE_BULK`, `enable_bulk` and `--enable-bulk`. */
export function named<T>(key: string, given: Row<T>): Setting<T> {
  const name = key.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const { env = [`MCP_PRUNER_${name.toUpperCase()}`], toml = given.secret ? null : name, toggle, ...row } = given;
  return { ...row, env, toml, toggle: toggle ? name.replace('enable_', '').replaceAll('_', '-') : undefined };
}

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
export const DAY_S = 24 * 60 * 60;
/** The maximum delay of a Node timer, about 24 days. */
export const MAX_TIMER_MS = 2_147_483_647;
