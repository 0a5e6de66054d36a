import { type OpenScorer, openScorer } from '../backends/open-scorer.ts';
import { ProjectBook } from '../config/project-book.ts';
import type { BulkPruner, Pruner, PruneTextResult } from '../core/calls/api.ts';
import { createPruner } from '../core/calls/prune-text.ts';
import { prunerWithEvents, prunerWithLedger } from '../core/calls/pruner-events.ts';
import type { DecisionCache } from '../core/decide/decision-cache.ts';
import { MainThreadDecider } from '../core/decide/decision-maker.ts';
import { Turns } from '../core/decide/turns.ts';
import { warmUp } from '../core/decide/warm-up.ts';
import { WorkerDecider } from '../core/decide/workers/worker-decider.ts';
import type { Recall } from '../core/recall/recall.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { verifiedHistoryProject } from '../core/segments/verified-history-project.ts';
import { ContextGc } from '../gc/context-gc.ts';
import type { LearnedThresholds } from '../ledger/compactions.ts';
import type { Learner } from '../ledger/learning.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Prices } from '../ledger/prices.ts';
import { Idempotency } from '../mcp/idempotency.ts';
import { Resources } from '../mcp/resources/registry.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { RetentionByProject, Upkeep } from '../store/upkeep.ts';
import { type Cold, openCold } from './cold.ts';
import type { Base, Context } from './context.ts';
import { type LedgerCounters, openLedger } from './ledger.ts';
import { type Observers, openObservers, openRecall } from './observers.ts';
import { partTools } from './part.ts';
import { decisionCacheOf } from './pipeline.ts';
import type { RecallSink } from './recall-thread.ts';

/** The services of every server, on HTTP or stdio. Tools, wires and routes use them. */
export interface Services extends Context, Observers {
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
  readonly contextGc: ContextGc;
  /** The ledger: the cost of requests, and the effect of pruning. */
  readonly ledger: Ledger;
  /** As `OpenLedger.ledgerStarted`. */
  readonly ledgerStarted: Promise<void>;
  /** Learns how boldly texts are cut; `null` if learning is off. */
  readonly learner: Learner | null;
  readonly prices: Prices;
  /** The lengths at which clients compact. */
  readonly thresholds: LearnedThresholds;
  readonly resources: Resources;
  readonly idempotency: Idempotency;
  /** Settings that projects have of their own. */
  readonly projectBook: ProjectBook;
  /** Searches what was kept. */
  readonly recall: Recall;
  /** Puts old results aside at cold moments. */
  readonly cold: Cold;
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
  const { store, events } = context;
  const deciding = openDeciding(context);
  const { scorer, turns, decider, decisionCache } = deciding;
  const watches = openObservers(context, turns, counters);
  const { flushSeen, sink, toolWatch } = watches;
  const contextGc = openContextGc(context, flushSeen);
  const { ledger, learner, ledgerStarted, prices, thresholds } = openLedger(context, {
    ...counters,
    onRated: ({ project, conversationId, atMs }, rate, { tokens, dollars }) =>
      toolWatch?.billed({ project, conversationId, atMs, rate, saved: { tokens, usd: dollars } }),
  });
  const projectBook = openProjectBook(context);
  const cold = openCold({ ...context, projectBook }, (sums) => ledger.count(sums));
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
    ...openPruners({ ...context, decisionCache, scorer, ledger, cold, onPruned }),
    cold,
    ...watches,
    contextGc,
    ledger,
    ledgerStarted,
    learner,
    prices,
    thresholds,
    resources: openResources(context),
    idempotency: openIdempotency(context),
    projectBook,
    recall: openRecall(context, flushSeen, cold),
    warmUp: () => warmUpOnce(context, deciding),
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

/** What decides about texts: the scorer, the worker threads, and the cache of their decisions. */
function openDeciding(context: Context) {
  const { settings, store, clock, failures } = context;
  const scorer = openBackend(context);
  const turns = new Turns();
  const decider = new WorkerDecider({
    mainThread: new MainThreadDecider(turns),
    onFailure: failures.of('pruning'),
  });
  return { scorer, turns, decider, decisionCache: decisionCacheOf(settings, store, clock, decider) };
}

function warmUpOnce({ edition, failures }: Context, { decider, turns }: ReturnType<typeof openDeciding>): void {
  if (edition.warmsUp === false) return;
  decider.warmUp();
  if (!isWarm) warmUpInTurns(turns).catch((cause: unknown) => failures.of('pruning')('not_warmed_up', cause));
  isWarm = true;
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

/** @param own - assigns originals to the projects of the caller */
export function openPruners(
  parts: Context & Pick<Services, 'decisionCache' | 'scorer' | 'ledger' | 'cold' | 'onPruned'>,
  own?: (pruneIds: readonly string[]) => Promise<void>,
): Pick<Services, 'pruner' | 'ownPruner'> {
  const { settings, failures, clock, store, events, decisionCache, scorer, ledger, cold, onPruned } = parts;
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
    return prunerWithLedger(logged, {
      recovered(pruneId, tokens) {
        ledger.recovered(pruneId, tokens);
        cold.books.recovered([pruneId]);
      },
    });
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
