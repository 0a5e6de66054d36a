import type { Settings } from '../config/settings.ts';

/** A setting that is on or off. */
export type Toggle = { [K in keyof Settings]: Settings[K] extends boolean ? K : never }[keyof Settings];

/** Facts about a part's tools that are known without loading the part. */
export interface PartTools {
  readonly namespace: string;
  /** The `mcp-pruner serve` option that enables the whole part. */
  readonly flag: string;
  /** The part's toggles, each with its option. */
  readonly toggles: Readonly<Partial<Record<Toggle, string>>>;
  /** All tool names of the part, enabled or not. */
  readonly names: readonly string[];
  /** Named sets of tools, own and others, that a client can select (`/rpc?tools=<name>`). */
  readonly profiles: Readonly<Record<string, readonly string[]>>;
  /**
   * The first missing flag of a tool, or `null`.
   *
   * @param mayStart - whether callers may start programs (stdio, or a token is required)
   */
  missingFlag(toolName: string, flags: ReadonlySet<string>, mayStart: boolean): string | null;
  /** Tools that accept an `idempotency_key`. */
  readonly keyed: readonly string[];
  /** Limits of the part, as reported by `mcp_info`. */
  info(settings: Settings): Readonly<Record<'timings' | 'safety', Readonly<Record<string, number>>>>;
}

/** The toggles of all parts, each with its option. */
export function togglesOf(parts: readonly PartTools[]): readonly (readonly [Toggle, string])[] {
  return parts.flatMap(({ toggles }) => Object.entries(toggles) as [Toggle, string][]);
}
