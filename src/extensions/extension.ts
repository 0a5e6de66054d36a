import type { RequestListener } from 'node:http';
import type { Services } from '../app/compose.ts';
import type { Settings } from '../config/settings.ts';
import type { Face, Tool, ToolRegistry } from '../mcp/tool.ts';
import type { Answer } from '../page/answers.ts';
import type { Gatekeeper } from '../proxy/doors/gatekeeper.ts';

/** A setting that is on or off. */
export type Toggle = { [K in keyof Settings]: Settings[K] extends boolean ? K : never }[keyof Settings];

/**
 * A large part of the product that can be left out. The rest of the program finds everything that it owns here, and loads
 * it only where one of its toggles is on. Its errors and settings stand in the tables beside, because their types derive
 * from those tables.
 */
export interface Extension {
  readonly name: string;
  /** The option of `mcp-pruner serve` that switches on all of it. */
  readonly flag: string;
  /** Its toggles, each with the option that it belongs to. */
  readonly toggles: Readonly<Partial<Record<Toggle, string>>>;
  /** Its tools, whether they are on or off. */
  readonly toolNames: readonly string[];
  /** Sets of tools, its own and others, that a client can ask for by one name. */
  readonly profiles: Readonly<Record<string, readonly string[]>>;
  /**
   * The first flag that a tool needs and that is missing, or `null`.
   *
   * @param mayStart - whether callers may start programs: they use stdio, or must present a token
   */
  missingFlag(toolName: string, flags: ReadonlySet<string>, mayStart: boolean): string | null;
  /** Its tools that take an `idempotency_key`. */
  readonly keyedTools: readonly string[];
  /** What the page can ask for below `/page/api/`. */
  readonly readings: readonly string[];
  /** Its limits, as `mcp_info` reports them. */
  info(settings: Settings): Readonly<Record<'timings' | 'safety', Readonly<Record<string, number>>>>;
  /** Opens it over the services. */
  open(services: Services, place: ExtensionPlace): Promise<OpenExtension>;
}

/** Where an extension runs. */
export interface ExtensionPlace {
  /** Where child programs reach this server, without a path; `null` where they cannot. */
  readonly url: (() => string) | null;
  readonly faces: readonly Face[];
  /** Whether callers may start programs: they came over stdio, or must present a token. */
  readonly mayStart: boolean;
}

/** An extension at work. */
export interface OpenExtension {
  /** @param registry - all tools, for those of its own that call others */
  tools(registry: () => ToolRegistry): readonly Tool[];
  /** Admits requests with tokens of its own before all other doors. @param rpc - the tools for one child agent */
  readonly door?: (rpc: (childId: string) => RequestListener) => Promise<Gatekeeper>;
  /** Answers the `readings` of its row. */
  readonly readings: Readonly<Record<string, Answer>>;
  /** What the page can do to it, by path below `/page/api/`. */
  readonly actions: Readonly<Record<string, Answer>>;
  close(): Promise<void>;
}
