import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProjectBook } from '../config/project-book.ts';
import type { BulkPruner, Pruner, PruneTextResult } from '../core/calls/api.ts';
import { createPruner } from '../core/calls/prune-text.ts';
import { prunerWithEvents, prunerWithLedger } from '../core/calls/pruner-events.ts';
import type { DecisionCache } from '../core/decide/decision-cache.ts';
import { MainThreadDecider } from '../core/decide/decision-maker.ts';
import { Turns } from '../core/decide/turns.ts';
import { warmUp } from '../core/decide/warm-up.ts';
import { WorkerDecider } from '../core/decide/workers/worker-decider.ts';
import type { BudgetGate } from '../core/ports/budgets.ts';
import type { LedgerReader } from '../core/ports/ledger-report.ts';
import { IDEMPOTENCY_TTL_MS, Idempotency } from '../mcp/idempotency.ts';
import { Resources } from '../mcp/resources/registry.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { RetentionByProject, Upkeep } from '../store/upkeep.ts';
import type { Context } from './context.ts';
import {
  type ContextGuest,
  type ContextView,
  type LedgerCounters,
  type LedgerGuest,
  type OpenLedger,
  type OpenScorer,
  partTools,
  type RecallGuest,
} from './guest.ts';
import { type Observers, openObservers } from './observers.ts';
import { decisionCacheOf } from './pipeline.ts';

/** Services of every server, HTTP or stdio, used by tools, wires and routes. */
export interface Services extends Context, Observers {
  /** `null` if the engine ranks alone. */
  readonly scorer: OpenScorer | null;
  /** Decides about each text once; about large texts on worker threads. */
  readonly decisionCache: DecisionCache;
  readonly pruner: Pruner & BulkPruner;
  /** Called for each text pruned by a tool call. */
  readonly onPruned: ((result: PruneTextResult) => void) | undefined;
  /** Like `pruner`, but never uses another swe-pruner, because two servers pointing at each other would loop. */
  readonly ownPruner: Pruner;
  /** Scheduler of long work on the main thread. */
  readonly turns: Turns;
  /** Guests of every server. */
  readonly own: { readonly ledger: LedgerGuest; readonly context: ContextGuest; readonly recall: RecallGuest };
  readonly contextGc: ContextView;
  readonly ledger: OpenLedger;
  /** Figures of the ledger that the viewer may see. */
  readonly ledgerView: LedgerReader;
  readonly resources: Resources;
  readonly idempotency: Idempotency;
  /** Per-project settings. */
  readonly projectBook: ProjectBook;
  /** Searches stored results. */
  readonly recall: ReturnType<RecallGuest['over']>;
  /** Budgets of keys and projects; `null` until all guests are open. */
  readonly budgets: () => BudgetGate | null;
  budgetsAre(gate: BudgetGate): void;
  /** Called for each request; the store's upkeep waits for a pause between requests. */
  onRequest(): void;
  health(): HealthReport;
  /** Flushes pending writes, stops the store's upkeep, and closes the store. */
  close(): Promise<void>;
}

/** Whether the engine was warmed up. Per process, which may run several servers. */
let isWarm = false;

/**
 * Builds the services over a context. A new service needs a field in `Services`, a line here, and a line in `close`.
 */
export async function openServices(
  context: Context,
  countPruned?: (result: PruneTextResult) => void,
  counters?: LedgerCounters,
): Promise<Services> {
  const { store, events } = context;
  const deciding = await openDeciding(context);
  const { scorer, turns, decider, decisionCache } = deciding;
  const projectBook = openProjectBook(context);
  const { edition } = context;
  const [openLedger, openContextGc, openRecall] = await Promise.all([
    edition.ledger(),
    edition.contextGc(),
    edition.recall(),
  ]);
  const ledgerGuest = openLedger(context, counters);
  const { ledger } = ledgerGuest;
  const contextGuest = openContextGc(context, {
    projectBook,
    count: (sums) => ledger.count(sums),
    ratesOf: (model) => ledgerGuest.ratesOf(model),
  });
  const { cold } = contextGuest;
  const recallGuest = openRecall(context, (pruneIds) => cold.recovered(pruneIds));
  const watches = openObservers(context, [contextGuest, recallGuest], turns, counters);
  const { flushSeen } = watches;
  const own = { ledger: ledgerGuest, context: contextGuest, recall: recallGuest };
  const upkeep = openUpkeep(context, projectBook);
  let budgets: BudgetGate | null = null;
  const onPruned = (result: PruneTextResult): void => {
    upkeep.request(); // its original needs compression
    countPruned?.(result);
  };
  return {
    ...context,
    scorer,
    decisionCache,
    turns,
    onPruned,
    ...openPruners({ ...context, decisionCache, scorer, ledger, own, onPruned }),
    own,
    ...watches,
    contextGc: contextGuest.over(context, flushSeen),
    ledger,
    ledgerView: ledgerGuest.over(context),
    resources: openResources(context),
    idempotency: openIdempotency(context),
    projectBook,
    recall: recallGuest.over(context, flushSeen),
    budgets: () => budgets,
    budgetsAre(gate) {
      budgets = gate;
    },
    onRequest: () => upkeep.request(),
    health: () => context.health(scorer?.state),
    async close() {
      upkeep.close();
      projectBook.close();
      await decider.close();
      await scorer?.close();
      await flushSeen();
      await ledgerGuest.close?.();
      await events.flush();
      await store.close();
    },
  };
}

/** Components that decide about texts: scorer, worker threads, and decision cache. */
async function openDeciding(context: Context) {
  const { edition, settings, store, clock, failures } = context;
  const scorer = await edition.backend(context);
  const turns = new Turns();
  const decider = new WorkerDecider({
    mainThread: new MainThreadDecider(turns, () => warmUpOnce(context, turns)),
    onFailure: failures.of('pruning'),
  });
  return { scorer, turns, decider, decisionCache: decisionCacheOf(settings, store, clock, decider) };
}

/** Decides about a text of each kind after the first text of a request, so that later ones find the code compiled. */
function warmUpOnce({ edition, failures }: Context, turns: Turns): void {
  if (isWarm || edition.warmsUp === false) return;
  isWarm = true;
  warmUpInTurns(turns).catch((cause: unknown) => failures.of('pruning')('not_warmed_up', cause));
}

async function warmUpInTurns(turns: Turns): Promise<void> {
  await nextTurn(); // the request comes first
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

function openUpkeep({ store, clock, settings, failures }: Context, projectBook: ProjectBook): Upkeep {
  const retention = new RetentionByProject({
    store,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    retentions: () => projectBook.retentions(),
  });
  const kept = {
    sweep: async () => (await store.sweep()) || (await retention.step()),
    pressed: () => store.pressed(),
    failing: () => store.failingSinceMs() !== null,
  };
  return new Upkeep(kept, failures.of('upkeep'));
}

/** @param own - assigns originals to the caller's project */
export function openPruners(
  parts: Context & Pick<Services, 'decisionCache' | 'scorer' | 'ledger' | 'own' | 'onPruned'>,
  own?: (pruneIds: readonly string[]) => Promise<void>,
): Pick<Services, 'pruner' | 'ownPruner'> {
  const {
    settings,
    failures,
    clock,
    store,
    events,
    decisionCache,
    scorer,
    ledger,
    own: { context },
    onPruned,
  } = parts;
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
        context.cold.recovered([pruneId]);
      },
    });
  };
  const pruner = open(scorer);
  return { pruner, ownPruner: settings.backend === 'swe-pruner' ? open(null) : pruner };
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

export function openIdempotency({ store, events, failures, clock, log }: Context): Idempotency {
  return new Idempotency({
    records: store.records,
    store,
    clock,
    ttlMs: IDEMPOTENCY_TTL_MS,
    events,
    onReplayed: (tool) => log.info({ tool }, `${tool}_replayed`),
    onFailure: failures.of('answers'),
  });
}
