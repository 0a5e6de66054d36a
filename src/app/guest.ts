import type { RequestListener } from 'node:http';
import type { ProjectBook } from '../config/project-book.ts';
import type { Settings, SettingTable } from '../config/settings.ts';
import type { Ownership } from '../core/ownership.ts';
import type { Budget, BudgetGate, OverBudget } from '../core/ports/budgets.ts';
import type { ColdReports, ContextActions } from '../core/ports/context-gc.ts';
import type { OnEnded } from '../core/ports/guest.ts';
import type { LedgerTurn } from '../core/ports/ledger.ts';
import type { LedgerReader } from '../core/ports/ledger-report.ts';
import type { SumGroup } from '../core/ports/ledger-store.ts';
import type { RecallSearch } from '../core/ports/recall.ts';
import type { LedgerSink } from '../core/ports/request-facts.ts';
import type { RunFigures } from '../core/ports/run-figures.ts';
import type { SeamSeat } from '../core/ports/seams.ts';
import type { Observer } from '../core/ports/seen.ts';
import type { SegmentPorts } from '../core/ports/segments.ts';
import type { Clock, LineScorer } from '../core/ports.ts';
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
import type { Base, Context } from './context.ts';
import type { OpenView, View, ViewParts } from './mounts.ts';
import type { Answer } from './page/answers.ts';

/** A large optional part of the product. The server gets a list of parts, and loads the code of enabled ones. */
export interface Part {
  readonly name: string;
  /** Whether the part is opened in a process with this transport. */
  isOn(settings: Settings, transport: Transport): boolean;
  /** Absent if the part has no tools. */
  readonly tools?: PartTools;
  /** Names of the part's readings below `/page/api/`. */
  readonly readings: readonly string[];
  /** Routes with their own token, if any. */
  readonly routes?: PartRoutes;
  /** Opens the part over the services. */
  open(services: Services, place: PartPlace): Promise<Guest>;
}

/** Routes with their own token. Mounted whether the part is on or off, and loaded on the first request. */
interface PartRoutes {
  readonly path: string;
  /** The token that callers must present; if `null`, the routes are not mounted. */
  token(settings: Settings): string | null;
  open(services: Services, opened: readonly Guest[]): Promise<RequestListener>;
}

export type Transport = 'http' | 'stdio';

/** Where a part runs. */
export interface PartPlace {
  /** URL at which child programs reach this server, without a path; `null` if they cannot. */
  readonly url: (() => string) | null;
  readonly faces: readonly Face[];
  /** Whether callers may start programs: they use stdio, or must present a token. */
  readonly mayStart: boolean;
}

/** Inputs for the door of a part. */
interface DoorParts {
  /** Answers `/rpc` for one child agent. */
  readonly rpc: (childId: string) => RequestListener;
  readonly destinations: Destinations;
}

/** Views of a part with per-viewer data. */
export interface Views {
  /** Chooses the view from which a request is answered. */
  open(input: OpenView): Promise<View>;
  /** Refusal of callers who sent no key and request data of all projects. */
  readonly refusal: CodedRow;
}

/** @param project - the only project that the caller may see */
export type Figures = (query: URLSearchParams, project: string | undefined) => Promise<unknown>;

/** What a guest adds to tables of the server. */
export interface Rows {
  /** @param registry - returns all tools, for tools of the guest that call others */
  tools?(registry: () => ToolRegistry): readonly Tool[];
  /** Admits requests before they are routed; doors are chained in the order of the guests. */
  readonly door?: (parts: DoorParts) => Promise<Gatekeeper>;
  /** Handlers of the part's `readings`. */
  readonly readings?: Readonly<Record<string, Answer>>;
  /** Handlers of readings that viewers of some projects may see, limited to these; the other readings stay empty. */
  readonly viewed?: (projects: readonly string[]) => Readonly<Record<string, Answer>>;
  /** Page actions, by path below `/page/api/`. */
  readonly actions?: Readonly<Record<string, Answer>>;
  /** Absent if all viewers see the same data. */
  readonly views?: Views;
  /** Figures for `/metrics`, read at each scrape. */
  readonly gauges?: readonly LabelledGauge[];
  /** Figures for local programs, as JSON, by path. Callers need the token of `/rpc`. */
  readonly figures?: Readonly<Record<string, Figures>>;
  /** Figures for `/health`. */
  readonly health?: () => Readonly<Record<string, unknown>>;
  /** Budgets in force, excluding project budgets. */
  readonly budgets?: () => readonly Budget[];
}

/** An open part of the product. Nothing of it runs between a request and its answer but its doors and `direct`. */
export interface Guest {
  readonly name: string;
  readonly rows: Rows;
  /** Before the answer: replaces summarised messages in requests. */
  readonly direct?: SeamSeat;
  /** After the answer, never before. */
  readonly ended?: OnEnded;
  /** Gets the new messages of requests, after they were forwarded. */
  readonly sees?: Observer;
  /** Writes what was seen so far. Never rejects. */
  readonly flush?: () => Promise<void>;
  /** Access keys: who owns the stored data of requests, and budgets of keys. */
  readonly access?: Access;
  /** Limits of subscriptions. */
  readonly limits?: Limits;
  /** Stops everything the guest has started, while requests can still be sent to models. */
  readonly stop?: () => Promise<void>;
  /** Flushes pending data after the last request. */
  readonly close?: () => Promise<void>;
}

export interface Access {
  /** Records which projects own the stored data of requests. */
  readonly owners: Ownership;
  /** Calls the listener when keys or their budgets may have changed. */
  readonly onChanged: (listener: () => void) => void;
  /** Called for requests that exceeded a budget. */
  readonly onOverBudget: (code: OverBudget['code'], keyId: string | null) => void;
}

export interface Limits {
  /** Remaining subscription limits, and usage by session, project and key. @throws StoreUnavailable */
  now(): Promise<object>;
  /** Usage by requests, as ratios per window, from answers since `sinceMs`. @throws StoreUnavailable */
  usedBy(requestIds: readonly string[], sinceMs: number): Promise<RunFigures['limits']>;
}

/** The ledger: costs of requests, and effects of pruning. */
export interface OpenLedger extends LedgerSink {
  /** Number of unbilled requests: in memory, or waiting in the store for another process. */
  readonly queued: number;
  /** Requests and figures that the store refused, since the start. */
  readonly dropped: number;
  /** Since when requests cannot be billed, in epoch milliseconds; `null` if they can. */
  readonly failingSinceMs: number | null;
  /** @param reported - resolves once all finished requests were reported to the ledger */
  reportedBy(reported: () => Promise<void>): void;
  /** Bills waiting requests. Never rejects. */
  flush(): Promise<void>;
  /** Whether this is the only process that bills requests in the store. One that was killed counts for a day. */
  isAlone(): Promise<boolean>;
}

/** The ledger, as the proxy, the page and other guests use it. */
export interface LedgerGuest extends Guest {
  readonly ledger: OpenLedger;
  /** Settles after the first store write, which announces this process to others. Never rejects. */
  readonly started: Promise<void>;
  /** Figures that a viewer may see. */
  over(viewed: Pick<Context, 'store'>): LedgerReader;
  /** Prices of cache reads and writes of a model; `null` without a price. */
  ratesOf(model: string): ReturnType<ContextParts['ratesOf']>;
  /** Starts to enforce monthly budgets. */
  budgets(limits: BudgetLimits): Promise<OpenBudgets>;
}

/** Counters of bills, for metrics. */
export interface LedgerCounters {
  /** Called for each billed request. */
  readonly onBilled?: (turn: LedgerTurn) => void;
  /** Called with the number of figures added to the project `(others)` because the day was full. */
  readonly onFolded?: (figures: number) => void;
  /** Called when a client compacted a conversation, or a compaction was avoided. */
  readonly onCompaction?: (kind: 'seen' | 'avoided') => void;
}

export interface BudgetLimits {
  /** The budgets in force. */
  readonly budgets: () => readonly Budget[];
  /** Called once a month for each budget that is nearly used up. */
  readonly onWarn: (budget: Budget, dollars: number) => void;
}

export interface OpenBudgets extends BudgetGate {
  /** Reads the budgets and the amounts spent. Never rejects. */
  refresh(): Promise<void>;
}

/** Context GC, as the pipeline, the page and the tools use it. */
export interface ContextGuest extends Guest {
  readonly cold: ColdReports;
  /** Ports of the pipeline. @param hasProjects - whether events belong to projects */
  segments(hasProjects: boolean): SegmentPorts;
  /**
   * Operations on the segments that a viewer may see.
   *
   * @param flush - writes everything seen so far
   */
  over(viewed: Pick<Context, 'store'>, flush: () => Promise<void>): ContextView;
}

export interface ContextView {
  readonly gc: ContextActions;
  readonly tools: readonly Tool[];
}

/** Recall, as the page and the tools use it. */
export interface RecallGuest extends Guest {
  /** Searches the results that a viewer may see. @param flush - writes everything seen so far */
  over(viewed: Pick<Context, 'store'>, flush: () => Promise<void>): RecallSearch & { readonly tools: readonly Tool[] };
}

/** What context GC needs besides the context. */
export interface ContextParts {
  readonly projectBook: ProjectBook;
  /** Adds to sums of the ledger. */
  count(sums: readonly SumGroup[]): void;
  /** Prices of cache reads and writes of a model; `null` without a price. */
  ratesOf(model: string): { readonly read: number; readonly write: number } | null;
}

/** The open guest that has a member; `undefined` if none is open. */
export function memberOf<K extends keyof Guest>(guests: readonly Guest[], member: K): Guest[K] | undefined {
  return guests.find((guest) => guest[member] !== undefined)?.[member];
}

/** A remote service that ranks lines. */
export interface OpenScorer extends LineScorer {
  /** `ok`, `not_configured` or `circuit_open`. */
  readonly state: string;
  close(): Promise<void>;
}

/** The optional parts of a program, passed in by its entry point. */
export interface Edition {
  readonly settings: SettingTable;
  /** Load the guests that every server opens before all others. */
  readonly ledger: () => Promise<(context: Context, counters?: LedgerCounters) => LedgerGuest>;
  readonly recall: () => Promise<(context: Context, onHits: (pruneIds: readonly string[]) => void) => RecallGuest>;
  readonly contextGc: () => Promise<(context: Context, parts: ContextParts) => ContextGuest>;
  /** Opens the configured remote backend; `null` if the engine ranks alone. */
  readonly backend: (base: Base) => Promise<OpenScorer | null>;
  /** Parts, in the order in which their doors admit requests. */
  readonly parts: readonly Part[];
  /** Builds the page over the services; files load with the first request. If absent, there is no page. */
  readonly page?: (parts: ViewParts) => Promise<RequestListener>;
  /** Tables of optional parts, in addition to the product's own. */
  readonly tables: readonly PartTables[];
  /** Database server for the store. If absent, the store is a file. */
  readonly database?: DatabaseServer;
  /** Whether servers warm up the engine before the first request, which takes half a second of CPU. Default: true. */
  readonly warmsUp?: boolean;
}

/** A type of database server that can contain a store. */
export interface DatabaseServer {
  open(options: StoreOptions & { readonly url: string }): Promise<StoreHandle>;
  /** The tables of a store, for `store move`. @throws StoreUnavailable, or an Error about the URL */
  openSide(url: string, readonly: boolean, clock: Clock, parts: readonly PartTables[]): Promise<Side>;
}

/** Tool facts of all parts. */
export function partTools({ parts }: Pick<Edition, 'parts'>): readonly PartTools[] {
  return parts.flatMap(({ tools }) => tools ?? []);
}

/** Parts that are enabled in a process. */
export function partsOn({ parts }: Edition, settings: Settings, transport: Transport): readonly Part[] {
  return parts.filter((part) => part.isOn(settings, transport));
}
