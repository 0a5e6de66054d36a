import type { Settings } from '../config/settings.ts';

/** A setting that is on or off. */
export type Toggle = { [K in keyof Settings]: Settings[K] extends boolean ? K : never }[keyof Settings];

/** Facts about the tools of an optional part that are known without loading it. */
export interface PartTools {
  readonly namespace: string;
  /** The option of `mcp-pruner serve` that switches on the whole part. */
  readonly flag: string;
  /** Its toggles, each with the option that it belongs to. */
  readonly toggles: Readonly<Partial<Record<Toggle, string>>>;
  /** Its tools, whether they are on or off. */
  readonly names: readonly string[];
  /** Sets of tools, its own and others, that a client can ask for by one name (`/rpc?tools=<name>`). */
  readonly profiles: Readonly<Record<string, readonly string[]>>;
  /**
   * The first flag that a tool needs and that is missing, or `null`.
   *
   * @param mayStart - whether callers may start programs: they use stdio, or must present a token
   */
  missingFlag(toolName: string, flags: ReadonlySet<string>, mayStart: boolean): string | null;
  /** Its tools that take an `idempotency_key`. */
  readonly keyed: readonly string[];
  /** Its limits, as `mcp_info` reports them. */
  info(settings: Settings): Readonly<Record<'timings' | 'safety', Readonly<Record<string, number>>>>;
}

/** The toggles of all parts, each with its option. */
export function togglesOf(parts: readonly PartTools[]): readonly (readonly [Toggle, string])[] {
  return parts.flatMap(({ toggles }) => Object.entries(toggles) as [Toggle, string][]);
}
