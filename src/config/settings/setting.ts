import type { Rule } from '../rules.ts';

/** One setting: its names, its rule, its default and what it is for. */
export interface Setting<T> {
  /** Names in the environment; the first that is set wins. */
  readonly env: readonly [string, ...string[]];
  /** Key below `[mcp_pruner]` in the TOML file, or `null` for what only the environment may hold. */
  readonly toml: string | null;
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
  /** `mcp-pruner serve` switches it by `--enable-<toggle>` and `--disable-<toggle>`. */
  readonly toggle?: string;
  /** Settings that are on with it, unless they were set by themselves. */
  readonly implies?: readonly string[];
  /** What a wrong word in the environment counts as, with a warning; without it a wrong word stops the start. */
  readonly instead?: T;
}

/** A row of the table. */
export function setting<T>(
  row: Omit<Setting<T>, 'fallback' | 'instead'> & { fallback: NoInfer<T>; instead?: NoInfer<T> },
) {
  return row as Setting<T>;
}

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
export const DAY_S = 24 * 60 * 60;
/** The longest delay that a timer of Node can wait, some 24 days. */
export const MAX_TIMER_MS = 2_147_483_647;
