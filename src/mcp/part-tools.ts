import type { Settings } from '../config/settings.ts';

/** Facts about a part's tools that are known without loading the part. */
export interface PartTools {
  readonly namespace: string;
  /** The `mcp-pruner serve` option that enables the whole part. */
  readonly flag: string;
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
  readonly keyed: readonly string[];
  info(settings: Settings): Readonly<Record<'timings' | 'safety', Readonly<Record<string, number>>>>;
}
