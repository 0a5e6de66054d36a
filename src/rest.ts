import type { RequestListener } from 'node:http';
import express from 'express';
import type { Settings } from './config/settings.ts';
import type { PruneTextResult } from './core/api.ts';
import type { Clock } from './core/ports.ts';
import { createPruner } from './core/pruner.ts';
import { toldPruner } from './core/told-pruner.ts';
import { localGuard } from './mcp/guard.ts';
import { INSTRUCTIONS } from './mcp/initialize.ts';
import { pruneRouter } from './mcp/prune-route.ts';
import { rpcRouter } from './mcp/rpc-routes.ts';
import { McpServer } from './mcp/server.ts';
import type { Log } from './observe/log.ts';
import type { Metrics } from './observe/metrics.ts';
import { sendError } from './proxy/openai-error.ts';
import { passthrough } from './proxy/passthrough.ts';
import type { Upstream } from './proxy/upstream.ts';
import type { Toolbox } from './toolbox.ts';

export interface RestParts {
  readonly log: Log;
  readonly version: string;
  readonly clock: Clock;
  readonly toolbox: Toolbox;
  readonly upstream: Upstream;
  readonly metrics: Metrics;
  /** Largest body of `/rpc` and `/prune`, in bytes. */
  readonly maxBodyBytes: number;
  readonly onPruned: (result: PruneTextResult) => void;
  readonly onFailure: (reason: string, cause: unknown) => void;
}

/** Builds what answers everything but chat completions and `/health`: express and the tools. */
export function openRest(settings: Settings, parts: RestParts): RequestListener {
  const { log, version, clock, toolbox, upstream, metrics, maxBodyBytes, onPruned, onFailure } = parts;
  const { store, decider, pruner, registry, events, methods, capabilities } = toolbox;
  const mcp = new McpServer({
    registry,
    faces: ['rpc'],
    version,
    instructions: INSTRUCTIONS,
    methods,
    capabilities,
    onCall: ({ fault, ...record }) => {
      if (fault === undefined) log.debug(record, 'rpc');
      else log.error({ ...record, err: fault }, 'rpc failed');
    },
  });

  const app = express().disable('x-powered-by');
  const access = {
    allowedHosts: [...settings.allowedHosts, settings.host],
    ...(settings.authToken !== null && { bearerToken: settings.authToken }),
  };
  const guard = localGuard(access);
  app.get('/metrics', guard, async (_req, res) => {
    const { contentType, text } = await metrics.page();
    res.setHeader('content-type', contentType);
    res.end(text);
  });
  app.use(
    '/rpc',
    localGuard({ ...access, tokenInUrl: true }),
    rpcRouter({ server: mcp, maxBodyBytes, onFault: (err) => log.error({ err }, 'rpc failed') }),
  );
  app.use(
    '/prune',
    guard,
    pruneRouter({
      // asking another swe-pruner from here could send two servers that point at each other round in circles
      pruner:
        settings.backend === 'swe-pruner'
          ? toldPruner(
              createPruner({ store, maxInputChars: settings.maxInputChars, onFailure, decider }),
              events,
              clock,
              onPruned,
            )
          : pruner,
      options: {
        maxPruneRatio: settings.maxPruneRatio,
        minKeepLines: settings.minKeepLines,
        timeoutMs: settings.timeoutMs,
        annotateLines: settings.annotateLines,
        includeMarkers: settings.includeMarkers,
      },
      maxBodyBytes,
      onResult: ({ pruneId, stats, warnings }) => log.info({ pruneId, ...stats, warnings }, 'prune'),
      onFault: (err) => log.error({ err }, 'prune failed'),
    }),
  );
  app.use(
    '/v1',
    passthrough({
      upstreamUrl: settings.upstreamUrl,
      pathFor: (clientPath) => upstream.pathFor(clientPath),
      headersTimeoutMs: settings.upstreamHeadersTimeoutMs,
      bodyTimeoutMs: settings.upstreamBodyTimeoutMs,
      onUpstreamError: (code) => log.warn({ upstreamError: code }, 'passed through, upstream failed'),
    }),
  );
  app.use((req, res) => {
    sendError(
      res,
      404,
      'not_found',
      `Nothing at ${req.method} ${req.path}: this server has /v1/*, POST /rpc, POST /prune, GET /health and GET /metrics.`,
    );
  });
  return app;
}
