import { onOff, type Rule } from '../rules.ts';

/** A row of the table with all facts about a setting. Default names derive from its key. */
export interface Row<T> {
  /** Environment variables; the first one set wins. Default: `MCP_PRUNER_` and the key. */
  readonly env?: readonly [string, ...string[]];
  /**
   * Key in the TOML file; default: the table's key. `null` if only the environment may contain it, such as a secret.
   */
  readonly toml?: string | null;
  readonly rule: Rule<T>;
  readonly fallback: T;
  /** The default in words, if it depends on the machine or an empty value needs explaining. */
  readonly fallbackWords?: string;
  readonly unit?: string;
  /** Its purpose, in one line. */
  readonly doc: string;
  /** Never printed, and refused in the TOML file. */
  readonly secret?: true;
  /** Listed first in the documentation: one of the few that many people change. */
  readonly common?: true;
  /** Option of `mcp-pruner serve` that also sets it. */
  readonly flag?: string;
  /** `mcp-pruner serve` has `--enable-…` and `--disable-…` for it. */
  readonly toggle?: true;
  /** Settings enabled together with it, unless set explicitly. */
  readonly implies?: readonly string[];
  /**
   * The substitute for an invalid word in the environment, with a warning; without it an invalid word prevents the
   * start.
   */
  readonly invalidEnvFallback?: T;
}

/** A setting with all its names. */
export interface Setting<T> extends Omit<Row<T>, 'env' | 'toml' | 'toggle'> {
  readonly env: readonly [string, ...string[]];
  /** Below `[mcp_pruner]`. */
  readonly toml: string | null;
  /** The name of its switch, after `--enable-` and `--disable-`. */
  readonly toggle?: string;
}

/** Creates a row of the table. */
export function setting<T>(
  row: Omit<Row<T>, 'fallback' | 'invalidEnvFallback'> & { fallback: NoInfer<T>; invalidEnvFallback?: NoInfer<T> },
) {
  return row as Row<T>;
}

/** The row of an optional feature: off unless it, or a setting that implies it, is enabled. */
export function optionalFeature(doc: string, implies: readonly string[] = []) {
  return setting({ rule: onOff(), fallback: false, toggle: true, doc, implies });
}

/** Derives a setting's names: `enableBulk` is `MCP_PRUNER_ENABLE_BULK`, `enable_bulk` and `--enable-bulk`. */
export function named<T>(key: string, given: Row<T>): Setting<T> {
  const name = key.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const { env = [`MCP_PRUNER_${name.toUpperCase()}`], toml = given.secret ? null : name, toggle, ...row } = given;
  return { ...row, env, toml, toggle: toggle ? name.replace('enable_', '').replaceAll('_', '-') : undefined };
}

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
export const DAY_S = 24 * 60 * 60;
/** The longest delay of a Node timer, about 24 days. */
export const MAX_TIMER_MS = 2_147_483_647;
