import type { RequestListener } from 'node:http';
import type { Settings, SettingTable } from '../config/settings.ts';
import type { Ownership } from '../core/ownership.ts';
import type { AnswerWatch } from '../core/ports/answer-watch.ts';
import type { Budget, OverBudget } from '../core/ports/budgets.ts';
import type { RunFigures } from '../core/ports/run-figures.ts';
import type { Clock } from '../core/ports.ts';
import type { CodedRow } from '../errors/errors.ts';
import type { PartTools } from '../mcp/part-tools.ts';
import type { Face, Tool, ToolRegistry } from '../mcp/tool.ts';
import type { LabelledGauge } from '../observe/metrics.ts';
import type { Gatekeeper } from '../proxy/doors/gatekeeper.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import type { StoreHandle, StoreOptions } from '../store/handle.ts';
import type { Side } from '../store/move/tables.ts';
import type { PartTables } from '../store/part-tables.ts';
import type { Services } from './compose.ts';
import type { OpenView, View, ViewParts } from './mounts.ts';
import type { Answer } from './page/answers.ts';

/**
 * A large optional part of the product. The server knows no part by name: it gets a list of them, and loads the code of
 * those that are on.
 */
export interface Part {
  readonly name: string;
  /** Whether it is opened in a process that serves over this transport. */
  isOn(settings: Settings, transport: Transport): boolean;
  /** Absent: it has no tools. */
  readonly tools?: PartTools;
  /** Its readings below `/page/api/`. */
  readonly readings: readonly string[];
  /** Absent: it has no routes with a token of their own. */
  readonly routes?: PartRoutes;
  /** Opens it over the services. */
  open(services: Services, place: PartPlace): Promise<OpenPart>;
}

/**
 * Routes with a token of their own. They are there whether the part is on or off, and load with their first request.
 */
export interface PartRoutes {
  readonly path: string;
  /** The token that callers must present; `null`: the routes are not mounted. */
  token(settings: Settings): string | null;
  open(services: Services, opened: readonly OpenPart[]): Promise<RequestListener>;
}

export type Transport = 'http' | 'stdio';

/** Where a part runs. */
export interface PartPlace {
  /** URL at which child programs reach this server, without a path; `null` if they cannot. */
  readonly url: (() => string) | null;
  readonly faces: readonly Face[];
  /** Whether callers may start programs: they came over stdio, or must present a token. */
  readonly mayStart: boolean;
}

/** The parts of the server that a door of a part needs. */
export interface DoorParts {
  /** Answers `/rpc` for one child agent. */
  readonly rpc: (childId: string) => RequestListener;
  readonly destinations: Destinations;
}

/** The views of a part whose viewers see different data. */
export interface Views {
  /** Chooses the view from which a request is answered. */
  open(input: OpenView): Promise<View>;
  /** Refuses a caller who has shown no key and asks for data of all projects. */
  readonly refusal: CodedRow;
}

/** @param project - the only project that the caller may see */
export type Figures = (query: URLSearchParams, project: string | undefined) => Promise<unknown>;

/** A part at work. */
export interface OpenPart {
  /** @param registry - returns all tools, for tools of the part that call others */
  tools?(registry: () => ToolRegistry): readonly Tool[];
  /** Admits requests before they are routed; the doors of parts stand in the order of the list. */
  readonly door?: (parts: DoorParts) => Promise<Gatekeeper>;
  /** Answers the `readings` of its row. */
  readonly readings?: Readonly<Record<string, Answer>>;
  /** The page's actions on it, by path below `/page/api/`. */
  readonly actions?: Readonly<Record<string, Answer>>;
  /** Absent: all viewers see the same data. */
  readonly views?: Views;
  /** Observes the answers of all model requests. */
  readonly answers?: AnswerWatch;
  /**
   * What requests used of the limits of a subscription, as ratios by window, to within the answers since `sinceMs`.
   *
   * @throws StoreUnavailable
   */
  readonly usedOfLimits?: (requestIds: readonly string[], sinceMs: number) => Promise<RunFigures['limits']>;
  /**
   * What subscriptions have left, and which sessions, projects and keys used it.
   *
   * @throws StoreUnavailable
   */
  readonly limits?: () => Promise<object>;
  /** Figures for `/metrics`, read at each scrape. */
  readonly gauges?: readonly LabelledGauge[];
  /**
   * Figures for programs of this machine, as JSON, by the path of their GET requests. Callers need the token of
   * `/rpc`.
   */
  readonly figures?: Readonly<Record<string, Figures>>;
  /** Records which project owns what requests store. */
  readonly owners?: Ownership;
  /** The budgets in force, project budgets excluded. */
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

/** The optional parts that a program consists of, as rows. The entry hands it in. */
export interface Edition {
  readonly settings: SettingTable;
  /** In the order in which their doors admit requests. */
  readonly parts: readonly Part[];
  /** Builds the page over the services; its files load with the first request. Absent: there is no page. */
  readonly page?: (parts: ViewParts) => Promise<RequestListener>;
  /** Tables in addition to the product's own. */
  readonly tables: readonly PartTables[];
  /** A database server as the store. Absent: the store is a file. */
  readonly database?: DatabaseServer;
  /**
   * Whether servers compile the engine's code before the first request needs it, half a second of CPU. Default: yes.
   */
  readonly warmsUp?: boolean;
}

/** A kind of store on a database server. */
export interface DatabaseServer {
  open(options: StoreOptions & { readonly url: string }): Promise<StoreHandle>;
  /** The tables of a store, for `store move`. @throws StoreUnavailable, or an Error about the URL */
  openSide(url: string, readonly: boolean, clock: Clock, parts: readonly PartTables[]): Promise<Side>;
}

/** Facts about the tools of all parts. */
export function partTools({ parts }: Pick<Edition, 'parts'>): readonly PartTools[] {
  return parts.flatMap(({ tools }) => tools ?? []);
}

/** The parts that a process opens. */
export function partsOn({ parts }: Edition, settings: Settings, transport: Transport): readonly Part[] {
  return parts.filter((part) => part.isOn(settings, transport));
}
