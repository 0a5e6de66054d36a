import { type OpenScorer, openScorer } from '../backends/open-scorer.ts';
import { ProjectBook } from '../config/project-book.ts';
import type { BulkPruner, Pruner, PruneTextResult } from '../core/calls/api.ts';
import { createPruner } from '../core/calls/prune-text.ts';
import { prunerWithEvents, prunerWithLedger } from '../core/calls/pruner-events.ts';
import { CompactionWatch } from '../core/compactions/watch.ts';
import type { DecisionCache } from '../core/decide/decision-cache.ts';
import { MainThreadDecider } from '../core/decide/decision-maker.ts';
import { Turns } from '../core/decide/turns.ts';
import { warmUp } from '../core/decide/warm-up.ts';
import { WorkerDecider } from '../core/decide/workers/worker-decider.ts';
import type { LedgerTurn } from '../core/ports/ledger.ts';
import type { Clock } from '../core/ports.ts';
import { Archiving } from '../core/recall/archiving.ts';
import { ResultKeeper } from '../core/recall/keeper.ts';
import { Recall } from '../core/recall/recall.ts';
import { type ResultSink, ResultWriter } from '../core/recall/writer.ts';
import { SeenReader } from '../core/seen/reader.ts';
import { SegmentObserver } from '../core/segments/observer.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { verifiedHistoryProject } from '../core/segments/verified-history-project.ts';
import { ToolWatch } from '../core/shelf/watch.ts';
import { ContextGc } from '../gc/context-gc.ts';
import { DirectiveBook } from '../gc/directive-book.ts';
import { Recorder } from '../gc/recorder.ts';
import type { HeadSaving } from '../ledger/bill.ts';
import { AvoidedCompactions } from '../ledger/compactions.ts';
import { pricesOf } from '../ledger/installed-prices.ts';
import { Learner } from '../ledger/learning.ts';
import { Ledger, type LedgerOptions } from '../ledger/ledger.ts';
import { frontRate, type Prices } from '../ledger/prices.ts';
import { Idempotency } from '../mcp/idempotency.ts';
import { Resources } from '../mcp/resources/registry.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { RetentionByProject, Upkeep } from '../store/upkeep.ts';
import type { Base, Context } from './context.ts';
import { partTools } from './edition.ts';
import { decisionCacheOf, findSettingsOf, globs } from './pipeline.ts';
import { MainThreadRecall, type RecallSink, RecallThread } from './recall-thread.ts';
import { fileOf } from './store.ts';

/** The services of every server, on HTTP or stdio. Tools, wires and routes use them. */
export interface Services extends Context {
  /** `null` when the engine ranks alone. */
  readonly scorer: OpenScorer | null;
  /** Decides about texts, each once; large ones on threads of their own. */
  readonly decisionCache: DecisionCache;
  readonly pruner: Pruner & BulkPruner;
  /** Called for each text that a call pruned. */
  readonly onPruned: ((result: PruneTextResult) => void) | undefined;
  /** As `pruner`, but never asks another swe-pruner: two servers that point at each other would loop. */
  readonly ownPruner: Pruner;
  /** The turns that requests take for long work on the main thread. */
  readonly turns: Turns;
  /** Hands what is new in proxied requests to the observers. */
  readonly seen: SeenReader;
  /** Stores and indexes results. */
  readonly sink: RecallSink;
  /** Resolves when what requests brought so far is stored. Never rejects. */
  readonly flushSeen: () => Promise<void>;
  readonly contextGc: ContextGc;
  /** The ledger: the cost of requests, and the effect of pruning. */
  readonly ledger: Ledger;
  /** As `OpenLedger.ledgerStarted`. */
  readonly ledgerStarted: Promise<void>;
  /** Learns how boldly texts are cut; `null` if learning is off. */
  readonly learner: Learner | null;
  readonly prices: Prices;
  readonly resources: Resources;
  readonly idempotency: Idempotency;
  /** Notes which tools are declared and called; absent where the shelf is off. */
  readonly toolWatch: ToolWatch | undefined;
  /** Settings that projects have of their own. */
  readonly projectBook: ProjectBook;
  /** Searches what was kept. */
  readonly recall: Recall;
  /** Starts to decide about built-in texts of each kind, so that no request waits until that code is compiled. */
  warmUp(): void;
  /** Called for each request, because the store's upkeep waits for a pause between requests. */
  onRequest(): void;
  health(): HealthReport;
  /** Writes what waits, ends the store's upkeep and closes it. */
  close(): Promise<void>;
}

/** Whether the engine's code is compiled: code belongs to the process, which may have several servers. */
let isWarm = false;

/**
 * Builds the services over a context. A new service needs a field of `Services`, a line here, and a line in `close`.
 */
export function openServices(
  context: Context,
  countPruned?: (result: PruneTextResult) => void,
  counters?: LedgerCounters,
): Services {
  const { settings, store, events, failures, clock } = context;
  const scorer = openBackend(context);
  const turns = new Turns();
  const decider = new WorkerDecider({
    mainThread: new MainThreadDecider(turns),
    onFailure: failures.of('pruning'),
  });
  const decisionCache = decisionCacheOf(settings, store, clock, decider);
  const watches = openWatches(context, turns, counters);
  const { flushSeen, sink, toolWatch } = watches;
  const contextGc = openContextGc(context, flushSeen);
  const { ledger, learner, ledgerStarted, prices } = openLedger(context, {
    ...counters,
    onRated: ({ project, conversationId, atMs }, rate, { tokens, dollars }) =>
      toolWatch?.billed({ project, conversationId, atMs, rate, saved: { tokens, usd: dollars } }),
  });
  const projectBook = openProjectBook(context);
  const upkeep = openUpkeep(context, projectBook, sink);
  const onPruned = (result: PruneTextResult): void => {
    upkeep.request(); // its original is to be packed
    countPruned?.(result);
  };
  return {
    ...context,
    scorer,
    decisionCache,
    turns,
    onPruned,
    ...openPruners({ ...context, decisionCache, scorer, ledger, onPruned }),
    ...watches,
    contextGc,
    ledger,
    ledgerStarted,
    learner,
    prices,
    resources: openResources(context),
    idempotency: openIdempotency(context),
    projectBook,
    recall: openRecall(context, flushSeen),
    warmUp() {
      decider.warmUp();
      if (!isWarm) warmUpInTurns(turns).catch((cause: unknown) => failures.of('pruning')('not_warmed_up', cause));
      isWarm = true;
    },
    onRequest: () => upkeep.request(),
    health: () => context.health(scorer?.state),
    async close() {
      upkeep.close();
      projectBook.close();
      await decider.close();
      await scorer?.close();
      await flushSeen();
      await sink.close();
      await ledger.close();
      await toolWatch?.flush();
      await events.flush();
      await store.close();
    },
  };
}

async function warmUpInTurns(turns: Turns): Promise<void> {
  const decisions = warmUp();
  while (!(await turns.run(() => decisions.next())).done);
}

function openProjectBook({ settings, store, log, failures }: Context): ProjectBook {
  return new ProjectBook({
    settings,
    store: store.projectSettings,
    onUnreadable: (project) =>
      log.warn({ project }, 'the settings of a project cannot be read: a newer version of the program wrote them'),
    onFailure: failures.of('projects'),
  });
}

function openUpkeep({ store, clock, settings, failures }: Context, projectBook: ProjectBook, sink: RecallSink): Upkeep {
  const retention = new RetentionByProject({
    store,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    retentions: () => projectBook.retentions(),
  });
  const kept = {
    tidy: () => sink.catchUp(),
    sweep: async () => (await store.sweep()) || (await retention.step()),
    pressed: () => store.pressed(),
    failing: () => store.failingSinceMs() !== null,
  };
  return new Upkeep(kept, failures.of('upkeep'));
}

/** Opens the parts that observe requests. */
function openWatches(
  context: Context,
  turns: Turns,
  counters: LedgerCounters | undefined,
): Pick<Services, 'seen' | 'flushSeen' | 'sink' | 'toolWatch'> {
  const { settings, store, failures, clock, behind } = context;
  const recorder = new Recorder({
    ...{ store: store.segments, clock, stashId, behind, onFailure: failures.of('segments') },
    keepsOpenings: settings.conversationTitles,
  });
  const sink = openSink(context);
  const keeper = openKeeper(context, sink);
  const compactions = new CompactionWatch({
    store: store.compactions,
    clock,
    onSeen: () => counters?.onCompaction?.('seen'),
    onFailure: failures.of('compactions'),
  });
  const seen = new SeenReader({
    find: findSettingsOf(settings),
    observers: [new SegmentObserver(recorder), keeper, compactions],
    turns,
    onFailure: failures.of('segments'),
  });
  const flushSeen = async (): Promise<void> => {
    await seen.flush();
    await Promise.all([recorder.flush(), keeper.flush(), compactions.flush()]);
  };
  const toolWatch = openToolWatch(context);
  return { seen, flushSeen, sink, toolWatch };
}

/** @param own - assigns originals to the projects of the caller */
export function openPruners(
  parts: Context & Pick<Services, 'decisionCache' | 'scorer' | 'ledger' | 'onPruned'>,
  own?: (pruneIds: readonly string[]) => Promise<void>,
): Pick<Services, 'pruner' | 'ownPruner'> {
  const { settings, failures, clock, store, events, decisionCache, scorer, ledger, onPruned } = parts;
  const open = (openedScorer: OpenScorer | null): Services['pruner'] => {
    const plain = createPruner({
      store,
      maxInputChars: settings.maxInputChars,
      reasonLanguage: settings.reasonLanguage,
      onFailure: failures.of('pruning'),
      decisions: decisionCache,
      scorer: openedScorer ?? undefined,
      own,
    });
    const logged = prunerWithEvents(plain, events, clock, onPruned);
    return prunerWithLedger(logged, ledger);
  };
  const pruner = open(scorer);
  return { pruner, ownPruner: settings.backend === 'swe-pruner' ? open(null) : pruner };
}

/** @param flush - writes what requests showed and is not written yet */
export function openContextGc({ store, failures, clock }: Context, flush: () => Promise<void>): ContextGc {
  const onFailure = failures.of('segments');
  return new ContextGc({
    store: store.segments,
    events: store,
    clock,
    flush,
    stashId,
    verifiedHistoryProject,
    onFailure,
  });
}

function openToolWatch({ settings, store, behind, failures }: Context): ToolWatch | undefined {
  if (settings.toolShelf === 'off') return undefined;
  const never = globs(settings.toolShelfNever);
  return new ToolWatch({ store: store.shelf, never, behind, onFailure: failures.of('shelf') });
}

/** Results of a store in a file are stored and indexed on a thread of its own. */
function openSink({ settings, store, clock, failures }: Context): RecallSink {
  const keepsAll = settings.recall === 'on';
  const fallback = new MainThreadRecall(
    new ResultWriter({ store, keepsAll }),
    new Archiving({ recall: store.recall }, clock),
  );
  const file = fileOf(settings);
  if (file === null) return fallback;
  return new RecallThread({
    ...{ settings: { store: file, keepsAll }, fallback, recall: store.recall },
    onFailure: failures.of('recall'),
  });
}

function openKeeper({ settings, store, failures, clock, behind }: Context, sink: ResultSink): ResultKeeper {
  return new ResultKeeper({
    sink,
    clock,
    directives: new DirectiveBook(store.segments),
    ttlMs: settings.pruneIdTtlS * 1000,
    behind,
    onFailure: failures.of('recall'),
  });
}

export function openRecall({ store }: Context, flush: () => Promise<void>): Recall {
  return new Recall({ store: store.recall, flush, indexes: true });
}

export function openResources({ edition, store, events }: Context): Resources {
  return new Resources({
    startedBy: partTools(edition).map(({ flag }) => flag),
    store,
    records: store.records,
    flush: () => events.flush(),
    onWritten: (listener) => events.onWritten(listener),
  });
}

export function openIdempotency({ settings, store, events, failures, clock, log }: Context): Idempotency {
  return new Idempotency({
    records: store.records,
    store,
    clock,
    ttlMs: settings.idempotencyTtlS * 1000,
    events,
    onReplayed: (tool) => log.info({ tool }, `${tool}_replayed`),
    onFailure: failures.of('answers'),
  });
}

/** The backend that the settings ask for; `null` when the engine ranks alone. */
function openBackend({ settings, log, clock }: Base): OpenScorer | null {
  const { backend } = settings;
  return openScorer({
    backend,
    deepinfra: {
      endpointUrl: settings.deepinfraEndpointUrl,
      apiKey: settings.deepinfraApiKey,
      timeoutMs: settings.deepinfraTimeoutMs,
      maxDocs: settings.deepinfraMaxDocs,
    },
    swePrunerUrl: settings.swePrunerUrl,
    proxies: settings,
    clock,
    cacheTtlMs: settings.cacheTtlS * 1000,
    cacheMaxItems: settings.cacheMaxItems,
    onFailure: (failure) => log.warn(failure, 'backend failed, ranked without it'),
    onBreaker: (openedBy) => {
      if (openedBy === null) log.info({ backend }, 'backend works again');
      else log.warn({ backend, openedBy }, 'backend keeps failing, not asked for a while');
    },
  });
}

/**
 * Opens the ledger over a store. A broken price file is not fatal: its models are then counted in tokens only, not in
 * dollars.
 */
function openLedger(context: Context, counters: LedgerCounters = {}): OpenLedger {
  const { settings, store, events, failures, clock, log, behind } = context;
  const onFailure = failures.of('ledger');
  const learner = settings.learn ? learnerOver(context) : null;
  const prices = loggedPrices(context);
  const avoided = new AvoidedCompactions(store.compactions, onFailure);
  const ledger = new Ledger({
    store: store.ledger,
    prices,
    clock,
    behind,
    processId: context.ids.uuid(),
    onFailure,
    findPrune: (pruneId) => store.findPrune(pruneId),
    conversationOf: (pruneId) => events.runOf(pruneId),
    learner: learner ?? undefined,
    ...counters,
    onBilled: (turn, head) => {
      counters.onBilled?.(turn, head);
      counters.onRated?.(turn, frontRate(prices, turn), head);
      if (avoided.billed(turn)) counters.onCompaction?.('avoided');
    },
    onFolded: atMostHourly(clock, counters.onFolded, (figures) =>
      log.warn({ figures }, 'too many ledger figures for one day: further projects are counted under (others)'),
    ),
  });
  const ledgerStarted = store.ready().then(
    () => ledger.start(),
    (cause: unknown) => onFailure('calibration_not_read', cause),
  );
  return { ledger, learner, ledgerStarted, prices };
}

/** Counters of bills, for metrics. */
interface LedgerCounters extends Pick<LedgerOptions, 'onBilled' | 'onFolded'> {
  /** A client compacted a conversation, or was spared it. */
  readonly onCompaction?: (kind: 'seen' | 'avoided') => void;
  /**
   * A request was billed; `rate` is in dollars for a token at its front, where the tools are, and `null` without a
   * price.
   */
  readonly onRated?: (turn: LedgerTurn, rate: number | null, head: HeadSaving) => void;
}

const HOUR_MS = 3_600_000;

/** Counts each call, and logs at most one per hour. */
function atMostHourly(clock: Clock, count: LedgerCounters['onFolded'], log: (figures: number) => void) {
  let loggedMs = Number.NEGATIVE_INFINITY;
  return (figures: number): void => {
    count?.(figures);
    if (clock.nowMs() - loggedMs < HOUR_MS) return;
    loggedMs = clock.nowMs();
    log(figures);
  };
}

/** The ledger, and the learner that uses it; `null` if learning is off. */
interface OpenLedger {
  readonly ledger: Ledger;
  readonly learner: Learner | null;
  readonly prices: Prices;
  /** Settles after the first write to the store, which announces this process to others. Never rejects. */
  readonly ledgerStarted: Promise<void>;
}

function learnerOver({ store, clock, log, failures }: Context): Learner {
  return new Learner({
    store: store.ledger,
    clock,
    onFailure: failures.of('ledger'),
    onStep: (step, before) =>
      log.info({ ...step, before }, step.step < before ? 'cuts become milder' : 'cuts become bolder'),
  });
}

/** The prices; problems in their files are logged. */
function loggedPrices({ settings, log }: Pick<Context, 'settings' | 'log'>): Prices {
  const prices = pricesOf(settings);
  for (const problem of prices.problems) log.warn({ reason: 'prices_not_read' }, problem);
  for (const warning of prices.warnings) log.warn({ reason: 'price_key_unknown' }, warning);
  return prices;
}
