import type { Fields, Rule } from '../rules.ts';

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
  readonly doc: string;
  /** Never displayed, and refused in the TOML file. */
  readonly secret?: true;
  /** Listed first in the documentation, because many people change it. */
  readonly common?: true;
  /** `mcp-pruner serve` option that also sets it. */
  readonly flag?: string;
  /** Parts of the value that also have a variable or key of their own. */
  readonly fields?: Fields;
  /** Whether it is only given by its fields, as for variables that other programs define. */
  readonly onlyFields?: true;
  /** Substitute for an invalid word in the environment, with a warning; without a substitute, the start fails. */
  readonly invalidEnvFallback?: T;
}

export interface Setting<T> extends Omit<Row<T>, 'env' | 'toml'> {
  readonly env: readonly [string, ...string[]];
  /** Key below `[mcp_pruner]`. */
  readonly toml: string | null;
}

export function setting<T>(
  row: Omit<Row<T>, 'fallback' | 'invalidEnvFallback'> & { fallback: NoInfer<T>; invalidEnvFallback?: NoInfer<T> },
) {
  return row as Row<T>;
}

export interface Feature {
  readonly doc: string;
  /** Names of features enabled along with it. */
  readonly implies?: readonly string[];
}

/** Features by the name that `mcp_info` reports; `enable` uses the name without `enable`: `enableEventsBus`, `events-bus`. */
export type Features = Readonly<Record<`enable${string}`, Feature>>;

/** Derives a setting's names: `maxEvents` becomes `MCP_PRUNER_MAX_EVENTS` and `max_events`. */
export function named<T>(key: string, row: Row<T>): Setting<T> {
  const name = snakeCase(key);
  const [first, ...others] = row.onlyFields ? Object.values(row.fields ?? {}).flatMap(({ env = [] }) => env) : [];
  const own = `MCP_PRUNER_${name.toUpperCase()}`;
  const { env = first === undefined ? [own] : [first, ...others], toml = row.secret ? null : name } = row;
  return { ...row, env, toml };
}

/** `enableEventsBus` as `enable_events_bus`. */
export function snakeCase(key: string): string {
  return key.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
}

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
export const DAY_S = 24 * 60 * 60;
/** The maximum delay of a Node timer, about 24 days. */
export const MAX_TIMER_MS = 2_147_483_647;
