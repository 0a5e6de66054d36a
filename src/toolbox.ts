import { type OpenScorer, openScorer } from './backends/open-scorer.ts';
import type { Settings } from './config/settings.ts';
import type { Pruner, PruneTextResult } from './core/api.ts';
import { DecideHere, type Decider } from './core/decider.ts';
import type { EventLog } from './core/event-log.ts';
import type { Clock } from './core/ports.ts';
import { createPruner } from './core/pruner.ts';
import { stashId } from './core/segments.ts';
import { toldPruner } from './core/told-pruner.ts';
import { ContextGc } from './gc/context-gc.ts';
import { Recorder } from './gc/recorder.ts';
import type { Kept, KeptParts } from './kept.ts';
import { Idempotency } from './mcp/idempotency.ts';
import { enabledFlags, infoOf } from './mcp/info.ts';
import type { JsonObject } from './mcp/json-rpc.ts';
import { resourceCapabilities, resourceMethods, withoutResources } from './mcp/resource-methods.ts';
import type { Method } from './mcp/server.ts';
import { type Face, type Tool, ToolRegistry } from './mcp/tool.ts';
import { contextGcAnalyzeTool } from './mcp/tools/context-gc-analyze.ts';
import { contextGcPinTool, contextGcUnpinTool } from './mcp/tools/context-gc-pin.ts';
import { contextGcPruneTool } from './mcp/tools/context-gc-prune.ts';
import { eventsWatchTool } from './mcp/tools/events-watch.ts';
import { type HealthReport, healthTool } from './mcp/tools/health.ts';
import { mcpCapabilitiesTool } from './mcp/tools/mcp-capabilities.ts';
import { mcpInfoTool, type Transports } from './mcp/tools/mcp-info.ts';
import { pruneBatchTool } from './mcp/tools/prune-batch.ts';
import { pruneTextTool } from './mcp/tools/prune-text.ts';
import { recoverBatchTool } from './mcp/tools/recover-batch.ts';
import { recoverTextTool } from './mcp/tools/recover-text.ts';
import { resourcesListTool } from './mcp/tools/resources-list.ts';
import { resourcesReadTool } from './mcp/tools/resources-read.ts';
import { resourcesWatchTool } from './mcp/tools/resources-watch.ts';
import type { Log } from './observe/log.ts';
import { Resources } from './resources/registry.ts';
import type { SqliteStore } from './store/sqlite.ts';
import { Upkeep } from './store/upkeep.ts';
import { DecideElsewhere } from './workers/decide-elsewhere.ts';

/** The store, the pruner over it and the tools over both: what every server of this product has, on HTTP or stdio. */
export interface Toolbox {
  readonly store: SqliteStore;
  /** Takes down what proxied requests show. */
  readonly recorder: Recorder;
  /** The backend that the settings ask for; `null` when the engine ranks alone. */
  readonly scorer: OpenScorer | null;
  /** Who decides about texts; large ones on threads of their own. */
  readonly decider: Decider;
  readonly pruner: Pruner;
  readonly registry: ToolRegistry;
  /** What happens is told here. */
  readonly events: EventLog;
  /** Methods of the protocol beside those of the tools, and what they let `initialize` announce. */
  readonly methods: Readonly<Record<string, Method>>;
  readonly capabilities: JsonObject;
  /** Takes note that a request is to be served; the store's upkeep waits for a pause. */
  readonly onRequest: () => void;
  health(): HealthReport;
  /** Ends the store's upkeep and closes it. */
  close(): Promise<void>;
}

/** Whom the tools are for. */
export interface ToolboxFace {
  readonly faces: readonly Face[];
  readonly transports: () => Transports;
  /** Whether connections outlive a call, so that a client can be told of updates. */
  readonly stays: boolean;
  /** Largest message, in bytes. */
  readonly maxInputBytes: number;
}

export interface ToolboxParts extends KeptParts {
  /** Told of each text that `prune_text` and its like pruned or gave back whole. */
  readonly onPruned?: (result: PruneTextResult) => void;
}

/**
 * Builds the tools over what is kept.
 *
 * @param further - tools of one face only, to stand on the same registry
 */
export function openToolbox(
  settings: Settings,
  { log, version, clock, onPruned }: ToolboxParts,
  kept: Kept,
  face: ToolboxFace,
  further: readonly Tool[] = [],
): Toolbox {
  const { store, events } = kept;
  const scorer = scorerOf(settings, log, clock);
  const fellBack = (reason: string, err: unknown): void => log.warn({ reason, err }, 'pruning fell back');
  const decider = new DecideElsewhere({ here: new DecideHere(), onFailure: fellBack });
  const untold = createPruner({
    store,
    maxInputChars: settings.maxInputChars,
    onFailure: fellBack,
    decider,
    ...(scorer && { scorer }),
  });
  const pruner = toldPruner(untold, events, clock, onPruned);
  const health = () => kept.health(scorer?.state);
  const onFailure = (reason: string, err: unknown): void => log.warn({ reason, err }, 'context not kept');
  const recorder = new Recorder({ store: store.segments, clock, stashId, onFailure });
  const gc = new ContextGc({
    store: store.segments,
    events: store,
    clock,
    flush: () => recorder.flush(),
    stashId,
    onFailure,
  });
  const resources = new Resources({
    store,
    records: store.records,
    flush: () => events.flush(),
    onWritten: (listener) => events.onWritten(listener),
  });
  const idempotency = new Idempotency({
    records: store.records,
    store,
    clock,
    ttlMs: settings.idempotencyTtlS * 1000,
    events,
    onFailure: (err) => log.warn({ err }, 'an answer could not be kept'),
  });
  const tools: readonly Tool[] = [
    ...further,
    pruneTextTool(pruner),
    recoverTextTool(pruner),
    healthTool(health),
    mcpInfoTool(() => infoOf(settings, version, face.transports(), face.maxInputBytes)),
    mcpCapabilitiesTool({
      tools: () => registry.list(face.faces),
      further: settings.enableIdempotency ? ['idempotency'] : [],
      maxEvents: settings.maxEvents,
    }),
    resourcesListTool(resources),
    resourcesReadTool(resources),
    resourcesWatchTool(resources),
    eventsWatchTool(resources),
    pruneBatchTool(pruner),
    recoverBatchTool(pruner),
    contextGcAnalyzeTool(gc),
    contextGcPruneTool(gc),
    contextGcPinTool(gc),
    contextGcUnpinTool(gc),
  ];
  const registry = new ToolRegistry(
    settings.enableIdempotency ? tools.map((tool) => (KEYED.has(tool.name) ? idempotency.wrap(tool) : tool)) : tools,
    enabledFlags(settings),
  );
  const upkeep = new Upkeep(store, (err) => log.debug({ err }, 'upkeep of the store failed'));
  return {
    store,
    onRequest: () => upkeep.request(),
    scorer,
    decider,
    pruner,
    recorder,
    registry,
    events,
    methods: { health, ...(settings.enableResources ? resourceMethods(resources, face.stays) : withoutResources) },
    capabilities: settings.enableResources ? resourceCapabilities(face.stays) : {},
    health,
    async close() {
      upkeep.close();
      await decider.close();
      await scorer?.close();
      await recorder.flush();
      await events.flush();
      await store.close();
    },
  };
}

/** Tools that take an `idempotency_key` when that is on: those that change something, and those for many at once. */
const KEYED: ReadonlySet<string> = new Set([
  'prune_text',
  'context_gc_prune',
  'context_gc_pin',
  'context_gc_unpin',
  'prune_batch',
  'recover_batch',
]);

function scorerOf(settings: Settings, log: Log, clock: Clock): OpenScorer | null {
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
    clock,
    cacheTtlMs: settings.cacheTtlS * 1000,
    cacheMaxItems: settings.cacheMaxItems,
    onFailure: (failure) => log.warn(failure, 'backend failed, ranked without it'),
    onBreaker: (openedBy) => {
      if (openedBy === null) log.info({ backend }, 'backend works again');
      else log.warn({ backend, openedBy }, 'backend left alone for a while');
    },
  });
}
