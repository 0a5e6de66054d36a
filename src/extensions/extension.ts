import type { RequestListener } from 'node:http';
import type { Services } from '../app/compose.ts';
import type { OpenView, View } from '../app/mounts.ts';
import type { Settings } from '../config/settings.ts';
import type { Ownership } from '../core/ownership.ts';
import type { Budget, OverBudget } from '../core/ports/budgets.ts';
import type { CodedRow } from '../errors/errors.ts';
import type { Face, Tool, ToolRegistry } from '../mcp/tool.ts';
import type { Answer } from '../parts/page/answers.ts';
import type { AdminRoute } from '../parts/team/admin/routes.ts';
import type { Gatekeeper } from '../proxy/doors/gatekeeper.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';

/** A setting that is on or off. */
export type Toggle = { [K in keyof Settings]: Settings[K] extends boolean ? K : never }[keyof Settings];

/**
 * A large optional part of the product. The rest of the program finds its parts here, and loads them only if it is on.
 * Its errors, settings and commands are in the tables next to it: types derive from the first two, and the command line
 * loads nothing else.
 */
export interface Extension {
  readonly name: string;
  /** Whether it is opened in a process that serves over this transport. */
  isOn(settings: Settings, transport: Transport): boolean;
  /** Absent: it has no tools. */
  readonly tools?: ExtensionTools;
  /** Its readings below `/page/api/`. */
  readonly readings: readonly string[];
  /** Its part of the admin API, whether it is on or off; loaded with the first request for it. */
  readonly adminRoutes?: (services: Services) => Promise<readonly AdminRoute[]>;
  /** Opens it over the services. */
  open(services: Services, place: ExtensionPlace): Promise<OpenExtension>;
}

export type Transport = 'http' | 'stdio';

/** Facts about the tools of an extension that are known without loading it. */
export interface ExtensionTools {
  /** The option of `mcp-pruner serve` that switches on the whole extension. */
  readonly flag: string;
  /** Its toggles, each with the option that it belongs to. */
  readonly toggles: Readonly<Partial<Record<Toggle, string>>>;
  /** Its tools, whether they are on or off. */
  readonly names: readonly string[];
  /** Sets of tools, its own and others, that a client can ask for by one name. */
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

/** Where an extension runs. */
export interface ExtensionPlace {
  /** URL at which child programs reach this server, without a path; `null` if they cannot. */
  readonly url: (() => string) | null;
  readonly faces: readonly Face[];
  /** Whether callers may start programs: they came over stdio, or must present a token. */
  readonly mayStart: boolean;
}

/** The parts of the server that a door of an extension needs. */
export interface DoorParts {
  /** Answers `/rpc` for one child agent. */
  readonly rpc: (childId: string) => RequestListener;
  readonly destinations: Destinations;
}

/** The views of an extension whose viewers see different data. */
export interface Views {
  /** Chooses the view from which a request is answered. */
  open(input: OpenView): Promise<View>;
  /** Refuses a caller who has shown no key and asks for data of all projects. */
  readonly refusal: CodedRow;
}

/** An extension at work. */
export interface OpenExtension {
  /** @param registry - returns all tools, for tools of the extension that call others */
  tools?(registry: () => ToolRegistry): readonly Tool[];
  /** Admits requests before they are routed; the doors of extensions stand in the order of the list. */
  readonly door?: (parts: DoorParts) => Promise<Gatekeeper>;
  /** Answers the `readings` of its row. */
  readonly readings?: Readonly<Record<string, Answer>>;
  /** The page's actions on it, by path below `/page/api/`. */
  readonly actions?: Readonly<Record<string, Answer>>;
  /** Absent: all viewers see the same data. */
  readonly views?: Views;
  /** Records which project owns what requests store. */
  readonly owners?: Ownership;
  /** The budgets in force, besides those of projects. */
  readonly budgets?: () => readonly Budget[];
  /** Calls back when they may have changed. */
  readonly onBudgets?: (listener: () => void) => void;
  /** Records a request that exceeded one of its budgets. */
  readonly onOverBudget?: (code: OverBudget['code'], keyId: string | null) => void;
  /** Stops everything it has started, while requests can still be sent to models. */
  readonly stop?: () => Promise<void>;
  /** Writes waiting data, after the last request. */
  readonly close?: () => Promise<void>;
}
