import { onOff, type Rule } from '../rules.ts';

/** A row of the table: all that is said of a setting once. Its names come from its key where the row gives none. */
export interface Row<T> {
  /** Names in the environment, the first that is set wins; without it `MCP_PRUNER_` and the key. */
  readonly env?: readonly [string, ...string[]];
  /** Key in the TOML file; without it that of the table. `null` for what only the environment may hold, as any secret. */
  readonly toml?: string | null;
  readonly rule: Rule<T>;
  readonly fallback: T;
  /** The default in words, where it depends on the machine or an empty value needs explaining. */
  readonly fallbackWords?: string;
  readonly unit?: string;
  /** What it is for, in one line. */
  readonly doc: string;
  /** Never printed, and refused in the TOML file. */
  readonly secret?: true;
  /** Name of the option of `mcp-pruner serve` that sets it too. */
  readonly flag?: string;
  /** `mcp-pruner serve` switches it by `--enable-…` and `--disable-…`. */
  readonly toggle?: true;
  /** Settings that are on with it, unless they were set by themselves. */
  readonly implies?: readonly string[];
  /** What a wrong word in the environment counts as, with a warning; without it a wrong word stops the start. */
  readonly instead?: T;
}

/** A setting with all its names. */
export interface Setting<T> extends Omit<Row<T>, 'env' | 'toml' | 'toggle'> {
  readonly env: readonly [string, ...string[]];
  /** Below `[mcp_pruner]`. */
  readonly toml: string | null;
  /** What follows `--enable-` and `--disable-`. */
  readonly toggle?: string;
}

/** A row of the table. */
export function setting<T>(row: Omit<Row<T>, 'fallback' | 'instead'> & { fallback: NoInfer<T>; instead?: NoInfer<T> }) {
  return row as Row<T>;
}

/** The row of a part of the product that is off unless it, or what implies it, is asked for. */
export function part(doc: string, implies: readonly string[] = []) {
  return setting({ rule: onOff(), fallback: false, toggle: true, doc, implies });
}

/** The setting of a row: `enableBulk` is `MCP_PRUNER_ENABLE_BULK`, `enable_bulk` and `--enable-bulk`. */
export function named<T>(key: string, given: Row<T>): Setting<T> {
  const name = key.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const { env = [`MCP_PRUNER_${name.toUpperCase()}`], toml = given.secret ? null : name, toggle, ...row } = given;
  return { ...row, env, toml, ...(toggle && { toggle: name.replace('enable_', '').replaceAll('_', '-') }) };
}

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
export const DAY_S = 24 * 60 * 60;
/** The longest delay that a timer of Node can wait, some 24 days. */
export const MAX_TIMER_MS = 2_147_483_647;
