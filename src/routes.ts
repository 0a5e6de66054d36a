import { randomFillSync } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { monotonicFactory } from 'ulid';
import type { Settings } from './config/settings.ts';
import type { PruneTextResult } from './core/api.ts';
import { LeftAlone } from './core/left-alone.ts';
import type { SegmentPorts } from './core/ports/segments.ts';
import type { Clock } from './core/ports.ts';
import { ContextBudget } from './gc/budget.ts';
import { DirectiveBook } from './gc/directive-book.ts';
import type { Kept, KeptParts } from './kept.ts';
import type { HealthReport } from './mcp/tools/health.ts';
import type { Log } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { ChatHandler } from './proxy/chat.ts';
import { sendError } from './proxy/openai-error.ts';
import { Reporter } from './proxy/report.ts';
import type { Routes } from './proxy/server.ts';
import { Upstream } from './proxy/upstream.ts';
import { rewriterOf } from './rewriter.ts';
import { openToolbox, type Toolbox } from './toolbox.ts';

/** Bodies of `/rpc` and `/prune` may have this size at the least, and so many bytes for each character of a text. */
const MIN_RPC_BODY_BYTES = 64 * 1024 * 1024;
const BODY_BYTES_PER_CHAR = 8;

/** All that is served, and its end. */
export interface OpenRoutes extends Routes {
  /** With the state of the backend, which is known from here on. */
  health(): HealthReport;
  /** Writes what waits and lets go of everything, the store included. */
  close(): Promise<void>;
}

/**
 * Builds what answers requests. It takes the longer part of a start, mostly for loading libraries, so that it is loaded
 * behind the open port.
 *
 * @param port - the one listened on
 */
export async function openRoutes(settings: Settings, parts: KeptParts, kept: Kept, port: number): Promise<OpenRoutes> {
  const { log, version, clock } = parts;
  // a text above the limit must still reach prune_text, which answers it with the no-op of 001 §9
  const maxBodyBytes = Math.max(MIN_RPC_BODY_BYTES, BODY_BYTES_PER_CHAR * settings.maxInputChars);
  const http = { enabled: true, host: settings.host, path: '/rpc', enableJson: true, stateless: true };
  const toolbox = openToolbox(settings, { ...parts, onPruned: (result) => countPruned(result) }, kept, {
    faces: ['rpc'],
    transports: () => ({ stdio: { enabled: false }, http: { ...http, port } }),
    stays: false,
    maxInputBytes: maxBodyBytes,
  });
  const { store, scorer, decider, events } = toolbox;
  const metrics = createMetrics({ version, storeSizes: () => store.stats() });
  const countPruned = ({ stats, warnings }: PruneTextResult): void =>
    metrics.pruning({
      candidates: 1,
      pruned: stats.prunedLines > 0 ? 1 : 0,
      tokensBefore: stats.tokensEstBefore,
      tokensAfter: stats.tokensEstAfter,
      elapsedMs: stats.elapsedMs,
      fallbacks: stats.usedFallback ? warnings.slice(-1) : [],
    });
  const onFailure = (reason: string, err: unknown): void => log.warn({ reason, err }, 'pruning fell back');
  const upstream = new Upstream({
    url: settings.upstreamUrl,
    headersTimeoutMs: settings.upstreamHeadersTimeoutMs,
    bodyTimeoutMs: settings.upstreamBodyTimeoutMs,
  });
  const leftAlone = new LeftAlone(store);
  await leftAlone.load().catch((err: unknown) => onFailure('left_alone_not_read', err));
  const reporter = new Reporter({ log, metrics, store, events, clock, shadow: settings.mode === 'shadow' });
  const nextId = monotonicFactory(pooledRandom());
  const chat = new ChatHandler({
    rewriter: rewriterOf(settings, {
      store,
      clock,
      leftAlone,
      onFailure,
      decider,
      ...(scorer && { scorer }),
      segments: segmentsOf(settings, toolbox, clock, log),
    }),
    leftAlone,
    upstream,
    enabled: settings.enabled,
    shadow: settings.mode === 'shadow',
    maxBodyBytes: settings.maxBodyBytes,
    timeoutMs: settings.timeoutMs,
    newRequestId: () => {
      toolbox.onRequest();
      return nextId();
    },
    onReport: (report) => reporter.report(report),
    onFault: (requestId, reason, err) => log.warn({ requestId, reason, err }, 'forwarded as it came'),
  });
  const restParts = { log, version, clock, toolbox, upstream, metrics, maxBodyBytes, onPruned: countPruned, onFailure };
  return {
    chat,
    // many a process serves chat completions for hours before anybody asks for the rest: it is loaded when that happens
    app: onDemand(
      async () => (await import('./rest.ts')).openRest(settings, restParts),
      (err) => log.error({ err }, 'not answered'),
    ),
    health: toolbox.health,
    async close() {
      await reporter.flush();
      await upstream.close();
      await toolbox.close();
    },
  };
}

/** Answers by what is opened with the first request; requests that come meanwhile wait for it. */
function onDemand(open: () => Promise<RequestListener>, onFailure: (cause: unknown) => void): RequestListener {
  let opened: Promise<RequestListener> | null = null;
  return (req, res) => {
    opened ??= open();
    opened.then(
      (listener) => {
        if (!req.destroyed) listener(req, res);
      },
      (cause: unknown) => {
        opened = null; // the next request tries again
        onFailure(cause);
        sendError(res, 500, 'internal_error', 'The part of the server that answers this could not be loaded.');
      },
    );
  };
}

/** What was asked of single segments, where they are taken down, and the budget if there is one. */
function segmentsOf(settings: Settings, { store, recorder }: Toolbox, clock: Clock, log: Log): SegmentPorts {
  const collector = new ContextBudget({
    store: store.segments,
    events: store,
    clock,
    tokens: settings.contextBudgetTokens,
    onStep: (step) =>
      log.info(
        { ...step, tokensSaved: step.tokensBefore - step.tokensAfter },
        'context over its budget, parts stashed',
      ),
    onFailure: (reason, err) => log.warn({ reason, err }, 'context not kept'),
  });
  return {
    directives: new DirectiveBook(store.segments),
    onSeen: (request) => recorder.note(request),
    ...(settings.contextBudgetTokens > 0 && { collector }),
  };
}

/** Random numbers in [0, 1) from a pool of bytes: `ulid` would ask the system sixteen times for each id. */
function pooledRandom(): () => number {
  const pool = new Uint8Array(4096);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    return (pool[next++] ?? 0) / 256;
  };
}
