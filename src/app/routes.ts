import type { PruneTextResult } from '../core/api.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { Routes } from '../proxy/server.ts';
import { loadSoon } from './loaded-later.ts';
import { openServices } from './services.ts';
import type { Storage } from './storage.ts';
import { openTools, type ToolFace } from './tools.ts';
import { openWires } from './wires.ts';

/** All that is served, and its end. */
export interface OpenRoutes extends Routes {
  /** With the state of the backend, which is known from here on. */
  health(): HealthReport;
  /** Whether all that is served can be; the store may fail meanwhile, requests then go through as they came. */
  ready(): boolean;
  /** Once all is loaded, or could not be. Never rejects. */
  readonly loaded: Promise<void>;
  /** Writes what waits and lets go of everything, the store included. */
  close(): Promise<void>;
}

/**
 * Builds what answers requests. It takes the longer part of a start, mostly for loading libraries, so that it is loaded
 * behind the open port.
 *
 * @param port - the one listened on
 */
export async function openRoutes(storage: Storage, port: number): Promise<OpenRoutes> {
  const { settings, version, store, log } = storage;
  const metrics = createMetrics({ version, storeSizes: () => store.stats() });
  const services = openServices(storage, (result) => countPruned(metrics, result));
  const face = httpFace(settings, port);
  const tools = openTools(services, face);
  const { wires, upstreams, hops, close } = await openWires(services, metrics);
  const mountParts = { ...services, tools, upstreams, hops, metrics, maxBodyBytes: face.maxInputBytes };
  const rest = loadSoon(
    async () => {
      const [{ openMounts }] = await Promise.all([import('./mounts.ts'), metrics.loaded()]);
      return openMounts(mountParts);
    },
    (err) => log.error({ err }, 'a part of the program could not be loaded: restart it'),
  );
  return {
    wires,
    hops,
    app: rest.listener,
    loaded: rest.settled,
    health: () => ({ ...services.health(), routes: rest.state() }),
    ready: () => rest.state() === 'ok',
    async close() {
      await close();
      await services.close();
    },
  };
}

/** Bodies of `/rpc` and `/prune` may have this size at the least, and so many bytes for each character of a text. */
const MIN_RPC_BODY_BYTES = 64 * 1024 * 1024;
const BODY_BYTES_PER_CHAR = 8;

function httpFace({ host, maxInputChars }: Storage['settings'], port: number): ToolFace {
  const http = { enabled: true, host, path: '/rpc', enableJson: true, stateless: true, port };
  return {
    faces: ['rpc'],
    transports: () => ({ stdio: { enabled: false }, http }),
    stays: false,
    // a text above the limit must still reach prune_text, which gives it back whole with a warning
    maxInputBytes: Math.max(MIN_RPC_BODY_BYTES, BODY_BYTES_PER_CHAR * maxInputChars),
  };
}

function countPruned(metrics: Metrics, { stats, warnings }: PruneTextResult): void {
  metrics.pruning({
    candidates: 1,
    pruned: stats.prunedLines > 0 ? 1 : 0,
    tokensBefore: stats.tokensEstBefore,
    tokensAfter: stats.tokensEstAfter,
    elapsedMs: stats.elapsedMs,
    fallbacks: stats.usedFallback ? warnings.slice(-1) : [],
  });
}
