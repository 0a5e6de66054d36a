import express from 'express';
import picomatch from 'picomatch';
import { monotonicFactory } from 'ulid';
import type { Settings } from './config/settings.ts';
import { DecisionMaker } from './core/decision-maker.ts';
import { LeftAlone } from './core/left-alone.ts';
import type { Clock, Store } from './core/ports.ts';
import { createPruner } from './core/pruner.ts';
import { RequestRewriter } from './core/rewrite-request.ts';
import { localGuard } from './mcp/guard.ts';
import { INSTRUCTIONS } from './mcp/initialize.ts';
import { rpcRouter } from './mcp/rpc-routes.ts';
import { McpServer } from './mcp/server.ts';
import { ToolRegistry } from './mcp/tool.ts';
import { healthReport, healthTool } from './mcp/tools/health.ts';
import { pruneTextTool } from './mcp/tools/prune-text.ts';
import { recoverTextTool } from './mcp/tools/recover-text.ts';
import type { Log } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { ChatHandler } from './proxy/chat.ts';
import { sendError } from './proxy/openai-error.ts';
import { passthrough } from './proxy/passthrough.ts';
import { Reporter } from './proxy/report.ts';
import { listen } from './proxy/server.ts';
import { Upstream } from './proxy/upstream.ts';
import { openSqliteStore } from './store/sqlite.ts';

/** A server that runs. */
export interface RunningApp {
  /** Where it listens, without a path. */
  readonly url: string;
  /** Refuses new requests, lets those under way finish within the drain limit, and lets go of everything. */
  close(): Promise<void>;
}

export interface AppParts {
  readonly log: Log;
  readonly version: string;
  readonly clock?: Clock;
}

/** A text above the limit must still reach `prune_text`, which answers it with the no-op of 001 §9. */
const RPC_BODY_BYTES = 128 * 1024 * 1024;
/** Pauses between steps of the store's upkeep: when there is more to do, and when there is not. */
const SWEEP_MORE_MS = 50;
const SWEEP_IDLE_MS = 30_000;

/**
 * Builds the server from its settings and starts it: the one place that constructs.
 *
 * @throws the error of `listen` (`EADDRINUSE`, …). A store that cannot be opened does not stop the start: requests
 * then go through unpruned, the log says why, and pruning begins when the store is back.
 */
export async function startApp(settings: Settings, parts: AppParts): Promise<RunningApp> {
  const { log, version } = parts;
  const clock = parts.clock ?? { nowMs: () => Date.now() };
  const store = openSqliteStore({
    path: settings.dbPath,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    maxBytes: settings.storeMaxBytes,
    maxEvents: settings.maxEvents,
    log,
  });
  const metrics = createMetrics({ version, storeSizes: () => store.stats() });
  const onFailure = (reason: string, err: unknown): void => log.warn({ reason, err }, 'pruning fell back');
  const upstream = new Upstream({
    url: settings.upstreamUrl,
    headersTimeoutMs: settings.upstreamHeadersTimeoutMs,
    bodyTimeoutMs: settings.upstreamBodyTimeoutMs,
  });
  const leftAlone = new LeftAlone(store);
  await leftAlone.load().catch((err: unknown) => onFailure('left_alone_not_read', err));
  const reporter = new Reporter({ log, metrics, store, clock, shadow: settings.mode === 'shadow' });
  const chat = new ChatHandler({
    rewriter: rewriterOf(settings, store, clock, leftAlone, onFailure),
    leftAlone,
    upstream,
    enabled: settings.enabled,
    shadow: settings.mode === 'shadow',
    maxBodyBytes: settings.maxBodyBytes,
    timeoutMs: settings.timeoutMs,
    newRequestId: monotonicFactory(),
    onReport: (report) => reporter.report(report),
    onFault: (requestId, reason, err) => log.warn({ requestId, reason, err }, 'forwarded as it came'),
  });
  const health = () => healthReport(version, clock, { store: store.problem()?.reason ?? 'ok', mode: modeOf(settings) });
  const pruner = createPruner({ store, maxInputChars: settings.maxInputChars, onFailure });
  const registry = new ToolRegistry([pruneTextTool(pruner), recoverTextTool(pruner), healthTool(health)]);
  const mcp = new McpServer({
    registry,
    faces: ['rpc'],
    version,
    instructions: INSTRUCTIONS,
    methods: { health },
    onCall: ({ fault, ...record }) => {
      if (fault === undefined) log.debug(record, 'rpc');
      else log.error({ ...record, err: fault }, 'rpc failed');
    },
  });

  const app = express().disable('x-powered-by');
  const guard = localGuard({
    allowedHosts: [...settings.allowedHosts, settings.host],
    ...(settings.authToken !== null && { bearerToken: settings.authToken }),
  });
  app.get('/health', (_req, res) => void res.json(health()));
  app.get('/metrics', guard, async (_req, res) => {
    const { contentType, text } = await metrics.page();
    res.setHeader('content-type', contentType);
    res.end(text);
  });
  app.use(
    '/rpc',
    guard,
    rpcRouter({ server: mcp, maxBodyBytes: RPC_BODY_BYTES, onFault: (err) => log.error({ err }, 'rpc failed') }),
  );
  app.use(
    '/v1',
    passthrough({
      upstreamUrl: settings.upstreamUrl,
      timeoutMs: settings.upstreamHeadersTimeoutMs,
      onUpstreamError: (code) => log.warn({ upstreamError: code }, 'passed through, upstream failed'),
    }),
  );
  app.use((req, res) => {
    sendError(
      res,
      404,
      'not_found',
      `Nothing at ${req.method} ${req.path}: this server has /v1/*, POST /rpc, GET /health and GET /metrics.`,
    );
  });
  const server = await listen({
    chat,
    app,
    host: settings.host,
    port: settings.port,
    drainTimeoutMs: settings.drainTimeoutMs,
  });
  const stopSweeping = sweepForever(store, log);

  return {
    url: server.url,
    async close() {
      await server.close();
      stopSweeping();
      await reporter.flush();
      await upstream.close();
      await store.close();
    },
  };
}

function modeOf({ enabled, mode }: Settings): string {
  return enabled ? mode : 'off';
}

function rewriterOf(
  settings: Settings,
  store: Store,
  clock: Clock,
  leftAlone: LeftAlone,
  onFailure: (reason: string, cause: unknown) => void,
): RequestRewriter {
  const decisions = new DecisionMaker({
    store,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    timeoutMs: settings.timeoutMs,
    memoBytes: settings.memoMaxBytes / 4,
  });
  return new RequestRewriter({
    store,
    clock,
    decisions,
    leftAlone,
    onFailure,
    find: {
      minPruneChars: settings.minPruneChars,
      maxInputChars: settings.maxInputChars,
      limits: { maxPruneRatio: settings.maxPruneRatio, minKeepLines: settings.minKeepLines },
      neverPruneTool: globs(settings.neverPruneTools),
      neverPrunePath: globs(settings.neverPrunePaths),
    },
    render: { annotateLines: settings.annotateLines, includeMarkers: settings.includeMarkers },
    memoBytes: settings.memoMaxBytes,
  });
}

function globs(patterns: readonly string[]): (name: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true, basename: false });
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
