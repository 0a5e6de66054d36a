import type { OpenScorer } from '../backends/open-scorer.ts';
import type { BulkPruner, Pruner, PruneTextResult } from '../core/calls/api.ts';
import { createPruner } from '../core/calls/prune-text.ts';
import { prunerWithEvents } from '../core/calls/pruner-events.ts';
import { CompactionWatch } from '../core/compactions/watch.ts';
import { DecideHere } from '../core/decide/decider.ts';
import type { DecideOnce } from '../core/decide/once.ts';
import { Turns } from '../core/decide/turns.ts';
import { ResultKeeper } from '../core/recall/keeper.ts';
import { Recall } from '../core/recall/recall.ts';
import { immutableHistoryProject } from '../core/segments/immutable-history-project.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { ToolWatch } from '../core/shelf/watch.ts';
import { ContextGc } from '../gc/context-gc.ts';
import { DirectiveBook } from '../gc/directive-book.ts';
import { Recorder } from '../gc/recorder.ts';
import type { Learner } from '../ledger/learning.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Prices } from '../ledger/prices.ts';
import { Idempotency } from '../mcp/idempotency.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { Resources } from '../resources/registry.ts';
import { Upkeep } from '../store/upkeep.ts';
import { DecideElsewhere } from '../workers/decide-elsewhere.ts';
import { openBackend } from './backend.ts';
import { decideOnceOf } from './decide-once.ts';
import { type LedgerCounters, openLedger, prunerWithLedger } from './ledger.ts';
import { ProjectBook } from './project-settings.ts';
import { findSettingsOf, globs } from './rewriter.ts';
import type { Storage } from './storage.ts';

/** What every server of this product has, on HTTP or stdio. Tools, wires and routes take from it what they need. */
export interface Services extends Storage {
  /** `null` when the engine ranks alone. */
  readonly scorer: OpenScorer | null;
  /** Decides about texts, each once; large ones on threads of their own. */
  readonly once: DecideOnce;
  readonly pruner: Pruner & BulkPruner;
  /** Called for each text that a call pruned. */
  readonly onPruned: ((result: PruneTextResult) => void) | undefined;
  /** As `pruner`, but never asking another swe-pruner: two servers that point at each other would go round in circles. */
  readonly ownPruner: Pruner;
  /** At long work on the thread of the requests. */
  readonly turns: Turns;
  /** Takes down what proxied requests show. */
  readonly recorder: Recorder;
  readonly contextGc: ContextGc;
  /** What requests cost, and what pruning changed. */
  readonly ledger: Ledger;
  /** As `OpenLedger.ledgerStarted`. */
  readonly ledgerStarted: Promise<void>;
  /** Says how boldly texts are cut; `null` where nothing is learnt. */
  readonly learner: Learner | null;
  readonly prices: Prices;
  readonly resources: Resources;
  readonly idempotency: Idempotency;
  /** Keeps the results of tools that requests show. */
  readonly keeper: ResultKeeper;
  /** Notices where clients compact their histories. */
  readonly compactionWatch: CompactionWatch;
  /** Notes which tools are declared and called; absent where the shelf is off. */
  readonly toolWatch: ToolWatch | undefined;
  /** Settings that projects have of their own. */
  readonly projectBook: ProjectBook;
  /** Searches what was kept. */
  readonly recall: Recall;
  /** Takes note that a request is to be served; the store's upkeep waits for a pause. */
  onRequest(): void;
  health(): HealthReport;
  /** Writes what waits, ends the store's upkeep and closes it. */
  close(): Promise<void>;
}

/** Builds the services over what is kept. A new one is a field of `Services`, a line here, and its end in `close`. */
export function openServices(
  storage: Storage,
  onPruned?: (result: PruneTextResult) => void,
  counters?: LedgerCounters,
): Services {
  const { settings, store, events, failures, clock } = storage;
  const scorer = openBackend(storage);
  const turns = new Turns();
  const decider = new DecideElsewhere({
    here: new DecideHere(turns),
    onFailure: failures.of('pruning'),
  });
  const once = decideOnceOf(settings, store, clock, decider);
  const recorder = new Recorder({
    ...{ store: store.segments, clock, stashId, onFailure: failures.of('segments') },
    keepsOpenings: settings.conversationTitles,
  });
  const keeper = openKeeper(storage, turns);
  const compactionWatch = new CompactionWatch({
    store: store.compactions,
    clock,
    onSeen: () => counters?.onCompaction?.('seen'),
    onFailure: failures.of('compactions'),
  });
  const toolWatch = openToolWatch(storage);
  const contextGc = openContextGc(storage, async () => {
    await Promise.all([recorder.flush(), keeper.flush()]);
  });
  const { ledger, learner, ledgerStarted, prices } = openLedger(storage, {
    ...counters,
    onRated: (turn, rate, saved) => toolWatch?.billed({ ...turn, rate, saved }),
  });
  const kept = {
    sweep: async () => (await store.sweep()) || (await store.recall.index()),
    pressed: () => store.pressed(),
  };
  const projectBook = new ProjectBook(storage);
  const upkeep = new Upkeep(kept, failures.of('upkeep'));
  return {
    ...storage,
    scorer,
    once,
    turns,
    onPruned,
    ...openPruners({ ...storage, once, scorer, ledger, onPruned }),
    recorder,
    contextGc,
    ledger,
    ledgerStarted,
    learner,
    prices,
    resources: openResources(storage),
    idempotency: openIdempotency(storage),
    keeper,
    compactionWatch,
    toolWatch,
    projectBook,
    recall: openRecall(storage, keeper),
    onRequest: () => upkeep.request(),
    health: () => storage.health(scorer?.state),
    async close() {
      upkeep.close();
      projectBook.close();
      await decider.close();
      await scorer?.close();
      await recorder.flush();
      await keeper.flush();
      await compactionWatch.flush();
      await ledger.close();
      await toolWatch?.flush();
      await events.flush();
      await store.close();
    },
  };
}

/** @param own - makes originals those of whoever calls, where they belong to projects */
export function openPruners(
  parts: Storage & Pick<Services, 'once' | 'scorer' | 'ledger' | 'onPruned'>,
  own?: (pruneIds: readonly string[]) => Promise<void>,
): Pick<Services, 'pruner' | 'ownPruner'> {
  const { settings, failures, clock, store, events, once, scorer, ledger, onPruned } = parts;
  const open = (asked: OpenScorer | null): Services['pruner'] => {
    const untold = createPruner({
      store,
      maxInputChars: settings.maxInputChars,
      reasonLanguage: settings.reasonLanguage,
      onFailure: failures.of('pruning'),
      decisions: once,
      scorer: asked ?? undefined,
      own,
    });
    const told = prunerWithEvents(untold, events, clock, onPruned);
    return prunerWithLedger(told, ledger);
  };
  const pruner = open(scorer);
  return { pruner, ownPruner: settings.backend === 'swe-pruner' ? open(null) : pruner };
}

/** @param flush - writes what requests showed and is not written yet */
export function openContextGc({ store, failures, clock }: Storage, flush: () => Promise<void>): ContextGc {
  const onFailure = failures.of('segments');
  return new ContextGc({
    store: store.segments,
    events: store,
    clock,
    flush,
    stashId,
    immutableHistoryProject,
    onFailure,
  });
}

function openToolWatch({ settings, store, failures }: Storage): ToolWatch | undefined {
  if (settings.toolShelf === 'off') return undefined;
  const never = globs(settings.toolShelfNever);
  return new ToolWatch({ store: store.shelf, never, onFailure: failures.of('shelf') });
}

function openKeeper({ settings, store, failures, clock }: Storage, turns: Turns): ResultKeeper {
  return new ResultKeeper({
    store,
    clock,
    turns,
    find: findSettingsOf(settings),
    directives: new DirectiveBook(store.segments),
    keepsAll: settings.recall === 'on',
    ttlMs: settings.pruneIdTtlS * 1000,
    onFailure: failures.of('recall'),
  });
}

export function openRecall({ store }: Storage, keeper: Pick<ResultKeeper, 'flush'>): Recall {
  return new Recall({ store: store.recall, flush: () => keeper.flush(), indexes: true });
}

export function openResources({ store, events }: Storage): Resources {
  return new Resources({
    store,
    records: store.records,
    flush: () => events.flush(),
    onWritten: (listener) => events.onWritten(listener),
  });
}

export function openIdempotency({ settings, store, events, failures, clock, log }: Storage): Idempotency {
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
