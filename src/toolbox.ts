import { type OpenScorer, openScorer } from './backends/open-scorer.ts';
import type { Settings } from './config/settings.ts';
import type { Pruner } from './core/api.ts';
import type { Clock, Store } from './core/ports.ts';
import { createPruner } from './core/pruner.ts';
import { stashId } from './core/segments.ts';
import { ContextGc } from './gc/context-gc.ts';
import { Recorder } from './gc/recorder.ts';
import { type Tool, ToolRegistry } from './mcp/tool.ts';
import { contextGcAnalyzeTool } from './mcp/tools/context-gc-analyze.ts';
import { contextGcPinTool, contextGcUnpinTool } from './mcp/tools/context-gc-pin.ts';
import { contextGcPruneTool } from './mcp/tools/context-gc-prune.ts';
import { type HealthReport, healthReport, healthTool } from './mcp/tools/health.ts';
import { pruneTextTool } from './mcp/tools/prune-text.ts';
import { recoverTextTool } from './mcp/tools/recover-text.ts';
import type { Log } from './observe/log.ts';
import { openSqliteStore, type SqliteStore } from './store/sqlite.ts';

/** The store, the pruner over it and the tools over both: what every server of this product has, on HTTP or stdio. */
export interface Toolbox {
  readonly store: SqliteStore;
  /** Takes down what proxied requests show. */
  readonly recorder: Recorder;
  /** The backend that the settings ask for; `null` when the engine ranks alone. */
  readonly scorer: OpenScorer | null;
  readonly pruner: Pruner;
  readonly registry: ToolRegistry;
  health(): HealthReport;
  /** Ends the store's upkeep and closes it. */
  close(): Promise<void>;
}

export interface ToolboxParts {
  readonly log: Log;
  readonly version: string;
  readonly clock: Clock;
}

/** Pauses between steps of the store's upkeep: when there is more to do, and when there is not. */
const SWEEP_MORE_MS = 50;
const SWEEP_IDLE_MS = 2_000;

/**
 * Opens the store and builds the tools. A store that cannot be opened is no error here: calls that need it say so.
 *
 * @param further - tools of one face only, to stand on the same registry
 */
export function openToolbox(
  settings: Settings,
  { log, version, clock }: ToolboxParts,
  further: readonly Tool[] = [],
): Toolbox {
  const store = openSqliteStore({
    path: settings.dbPath,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    maxBytes: settings.storeMaxBytes,
    maxEvents: settings.maxEvents,
    log,
  });
  const scorer = scorerOf(settings, log, clock);
  const pruner = createPruner({
    store,
    maxInputChars: settings.maxInputChars,
    onFailure: (reason, err) => log.warn({ reason, err }, 'pruning fell back'),
    ...(scorer && { scorer }),
  });
  const mode = settings.enabled ? settings.mode : 'off';
  const health = () =>
    healthReport(version, clock, {
      store: store.problem()?.reason ?? 'ok',
      mode,
      backend: settings.backend,
      ...(scorer && { backend_state: scorer.state }),
    });
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
  const stopSweeping = sweepForever(store, log);
  return {
    store,
    scorer,
    pruner,
    recorder,
    registry: new ToolRegistry([
      ...further,
      pruneTextTool(pruner),
      recoverTextTool(pruner),
      healthTool(health),
      contextGcAnalyzeTool(gc),
      contextGcPruneTool(gc),
      contextGcPinTool(gc),
      contextGcUnpinTool(gc),
    ]),
    health,
    async close() {
      stopSweeping();
      await scorer?.close();
      await recorder.flush();
      await store.close();
    },
  };
}

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

/** Keeps the store in shape in small steps, away from requests. */
function sweepForever(store: Store, log: Log): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const step = async (): Promise<void> => {
    const more = await store.sweep().catch((err: unknown) => {
      log.debug({ err }, 'upkeep of the store failed');
      return false;
    });
    if (!stopped) timer = setTimeout(() => void step(), more ? SWEEP_MORE_MS : SWEEP_IDLE_MS).unref();
  };
  timer = setTimeout(() => void step(), SWEEP_MORE_MS).unref();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
