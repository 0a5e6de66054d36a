import type { IncomingMessage } from 'node:http';
import type { Settings } from '../config/settings.ts';
import type { PruneTextResult } from '../core/calls/api.ts';
import { isForeign } from '../core/origin.ts';
import type { ChildGate } from '../core/ports/child-gate.ts';
import { hasFleet } from '../mcp/info.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { Gatekeeper } from '../proxy/doors/gatekeeper.ts';
import type { Routes } from '../proxy/server.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import { noteSettings } from './audit.ts';
import { callersOf } from './callers.ts';
import type { OpenFleet } from './fleet.ts';
import type { OpenKeys } from './keys.ts';
import { loadSoon } from './loaded-later.ts';
import type { MountParts } from './mounts.ts';
import { openServices, type Services } from './services.ts';
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
  /** Ends what would never end by itself, such as a page that follows what happens. */
  endStreams(): void;
  /** Ends the children that were started, while the way to the model is still open to them. */
  stopChildren(): Promise<void>;
  /** Writes pending data and closes everything, including the store. */
  close(): Promise<void>;
}

/**
 * Builds what answers requests. It takes the longer part of a start, mostly for loading libraries, so that it is loaded
 * behind the open port.
 *
 * @param port - the one listened on
 */
export async function openRoutes(storage: Storage, port: number): Promise<OpenRoutes> {
  const { settings, version, store, failures } = storage;
  const metrics = createMetrics({
    version,
    labels: settings.metricsLabels,
    maxValues: settings.metricsMaxValues,
    storeSizes: async () => {
      const problem = store.problem();
      if (problem !== null) throw problem;
      return store.stats();
    },
    gauges: [
      {
        name: 'requests_in_progress',
        help: 'Requests to models that are not answered yet.',
        read: () => opened.inProgress(),
      },
      {
        name: 'ledger_queued_requests',
        help: 'Answered requests that are not billed yet.',
        read: () => services.ledger.queued,
      },
      {
        name: 'saving_alarm',
        help: 'Whether requests with large results save nothing.',
        read: () => (opened.savings.alarm === null ? 0 : 1),
      },
    ],
  });
  const services = openServices(storage, (result) => countPruned(metrics, result), {
    onBilled: (turn) => metrics.billed(turn),
    onFolded: (figures) => metrics.folded(figures),
    onCompaction: (kind) => metrics.compaction(kind),
  });
  const face = httpFace(settings, port);
  const keys = settings.requireKey ? await (await import('./keys.ts')).openKeys(services) : null;
  const fleet = await fleetOf(services, port);
  const tools = openTools(services, face, [], fleet);
  const opened = await openWires(services, metrics, keys?.owners);
  const { wireFor, sockets, onUpgradeRefused, onPathUnknown, notUnderstood, savings, destinations, hops, close } =
    opened;
  const stopping = new AbortController();
  const ofAll = {
    ...services,
    tools,
    savings,
    destinations,
    hops,
    onPathUnknown,
    metrics,
    maxBodyBytes: face.maxInputBytes,
  };
  const mountParts: MountParts = { ...ofAll, stopping: stopping.signal };
  const rest = loadSoon(async () => {
    const [{ openMounts }, views] = await Promise.all([
      import('./mounts.ts'),
      keys && import('./key-views.ts'),
      metrics.loaded(),
    ]);
    if (!keys || !views) return openMounts(mountParts);
    return openMounts({ ...mountParts, openViews: (mount) => views.keyViews(mountParts, keys, face, mount) });
  }, failures.of('loading'));
  const front = await frontFor(settings, keys, fleet?.fleet.children?.gate ?? null, mountParts);
  return {
    wireFor,
    front: front ?? undefined,
    sockets,
    onUpgradeRefused,
    hops,
    app: rest.listener,
    loaded: Promise.all([rest.settled, services.ledgerStarted, noteSettings(storage)]).then(() => undefined),
    health: () => ({
      ...services.health(),
      routes: rest.state(),
      not_understood: notUnderstood.report(),
      saving_alarm: savings.alarm ?? undefined,
    }),
    ready: () => rest.state() === 'ok',
    endStreams: () => stopping.abort(),
    stopChildren: async () => fleet?.close(),
    async close() {
      keys?.close();
      await close();
      await services.close();
    },
  };
}

/** The fleet, where a part of it is switched on. */
async function fleetOf(services: Services, port: number): Promise<OpenFleet | null> {
  const { settings } = services;
  if (!hasFleet(settings)) return null;
  const { openFleet } = await import('./fleet.ts');
  const name = settings.host === '0.0.0.0' ? '127.0.0.1' : settings.host === '::' ? '::1' : settings.host;
  const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  return openFleet(services, { url: () => url, faces: ['rpc'], mayStart: settings.authToken !== null });
}

/** Who comes first to requests: the door of children, that of keys, and who lends the provider's key to those without. */
async function frontFor(
  settings: Settings,
  keys: OpenKeys | null,
  children: ChildGate | null,
  parts: MountParts,
): Promise<Gatekeeper | null> {
  const { upstreamApiKey, anthropicApiKey } = settings;
  const ofChildren = children && (await doorOf(children, parts));
  const hasProviderKey = upstreamApiKey !== null || anthropicApiKey !== null;
  if (!keys && !hasProviderKey) return ofChildren;
  const { destinations } = parts;
  const door = keys?.door(destinations);
  const lend = hasProviderKey ? await lenderOf(settings, destinations) : () => {};
  const enter: Gatekeeper = (coming) => {
    const next = (): void => {
      lend(coming.req);
      coming.next();
    };
    if (door) door.enter({ ...coming, next });
    else next();
  };
  return ofChildren ? (coming) => ofChildren({ ...coming, next: () => enter(coming) }) : enter;
}

async function lenderOf(settings: Settings, destinations: Destinations): Promise<(req: IncomingMessage) => void> {
  const { providerKeys } = await import('../proxy/doors/provider-keys.ts');
  const callers = callersOf(settings);
  return providerKeys(settings, destinations, ({ host, origin, 'sec-fetch-site': site }) =>
    isForeign({ host, origin, secFetchSite: site }, callers),
  );
}

async function doorOf(gate: ChildGate, parts: MountParts): Promise<Gatekeeper> {
  const [{ childDoor }, { childRpc }, { listenersByChild }] = await Promise.all([
    import('../proxy/doors/child-door.ts'),
    import('./mounts.ts'),
    import('./fleet.ts'),
  ]);
  const rpc = listenersByChild((childId) => childRpc(parts, childId));
  return childDoor({ gate, rpc, onFailure: parts.failures.of('child') });
}

/** Largest body of `/rpc` and `/prune`: two texts of the largest size that is pruned, at 6 bytes a character at most. */
const MIN_RPC_BODY_BYTES = 32 * 1024 * 1024;
const BODY_BYTES_PER_CHAR = 16;

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
