import type { IncomingMessage } from 'node:http';
import type { Settings } from '../config/settings.ts';
import type { PruneTextResult } from '../core/calls/api.ts';
import { isForeign } from '../core/origin.ts';
import type { Budget } from '../core/ports/budgets.ts';
import { extensionsOn } from '../extensions/all.ts';
import type { ExtensionPlace, OpenExtension } from '../extensions/extension.ts';
import type { Budgets } from '../ledger/budgets.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { Gatekeeper } from '../proxy/doors/gatekeeper.ts';
import { type LoadedLater, loadSoon } from '../proxy/loaded-later.ts';
import type { Routes } from '../proxy/server.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import { openServices, type Services } from './compose.ts';
import type { Context } from './context.ts';
import { callersOf, noteSettings } from './context.ts';
import type { MountParts } from './mounts.ts';
import { openTools, type ToolFace } from './tools.ts';
import type { OpenKeys } from './viewer.ts';
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
export async function openRoutes(context: Context, port: number): Promise<OpenRoutes> {
  const { settings } = context;
  const metrics = metricsFor(context, {
    inProgress: () => wires.inProgress(),
    queued: () => services.ledger.queued,
    hasAlarm: () => wires.savings.alarm !== null,
  });
  const services = openServices(context, (result) => countPruned(metrics, result), {
    onBilled: (turn) => {
      metrics.billed(turn);
      budgets.add(turn);
    },
    onFolded: (figures) => metrics.folded(figures),
    onCompaction: (kind) => metrics.compaction(kind),
  });
  const face = httpFace(settings, port);
  const keys = settings.requireKey ? await (await import('./viewer.ts')).openKeys(services) : null;
  const { projectBook } = services;
  await projectBook.start();
  const { openBudgets } = await import('./budgets.ts');
  const limits = (): readonly Budget[] => [...(keys?.budgets() ?? []), ...projectBook.budgets()];
  const budgets = await openBudgets(services, limits);
  const opened = await openExtensions(services, port);
  const tools = openTools(services, face, [], opened);
  const wires = await openWires(services, metrics, keys?.owners);
  const { wireFor, sockets, onUpgradeRefused, onPathUnknown, notUnderstood, savings, destinations, hops, close } =
    wires;
  const stopping = new AbortController();
  const mountParts: MountParts = {
    ...services,
    ...{ tools, opened, savings, destinations, hops, onPathUnknown, metrics },
    maxBodyBytes: face.maxInputBytes,
    stopping: stopping.signal,
  };
  const rest = mountsSoon(mountParts, keys, face);
  const front = await frontFor(settings, { keys, budgets }, mountParts);
  return {
    wireFor,
    front: front ?? undefined,
    sockets,
    onUpgradeRefused,
    hops,
    app: rest.listener,
    loaded: Promise.all([rest.settled, services.ledgerStarted, noteSettings(context)]).then(() => undefined),
    health: () => ({
      ...services.health(),
      routes: rest.state(),
      not_understood: notUnderstood.report(),
      saving_alarm: savings.alarm ?? undefined,
    }),
    ready: () => rest.state() === 'ok',
    endStreams: () => stopping.abort(),
    stopChildren: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
    async close() {
      budgets.close();
      await keys?.close();
      await close();
      await services.close();
    },
  };
}

/** Loads express and all behind it, with views for each viewer where keys are required. */
function mountsSoon(parts: MountParts, keys: OpenKeys | null, face: ToolFace): LoadedLater {
  return loadSoon(async () => {
    const [{ openMounts }, views] = await Promise.all([
      import('./mounts.ts'),
      keys && import('./viewer.ts'),
      parts.metrics.loaded(),
    ]);
    if (!keys || !views) return openMounts(parts);
    return openMounts({ ...parts, openViews: (mount) => views.keyViews(parts, keys, face, mount) });
  }, parts.failures.of('loading'));
}

/** What the gauges read, once it is there. */
interface GaugeSources {
  readonly inProgress: () => number;
  readonly queued: () => number;
  readonly hasAlarm: () => boolean;
}

function metricsFor({ settings, version, store }: Context, { inProgress, queued, hasAlarm }: GaugeSources): Metrics {
  return createMetrics({
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
        read: inProgress,
      },
      {
        name: 'ledger_queued_requests',
        help: 'Answered requests that are not billed yet.',
        read: queued,
      },
      {
        name: 'saving_alarm',
        help: 'Whether requests with large results save nothing.',
        read: () => (hasAlarm() ? 1 : 0),
      },
    ],
  });
}

/** Opens the extensions that are on. */
async function openExtensions(services: Services, port: number): Promise<OpenExtension[]> {
  const { host, authToken } = services.settings;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  const place: ExtensionPlace = { url: () => url, faces: ['rpc'], mayStart: authToken !== null };
  return Promise.all(extensionsOn(services.settings).map((one) => one.open(services, place)));
}

/** Who comes first to requests: the doors of extensions, that of keys, and who lends the provider's key to those without. */
async function frontFor(
  settings: Settings,
  { keys, budgets }: { readonly keys: OpenKeys | null; readonly budgets: Budgets },
  parts: MountParts,
): Promise<Gatekeeper | null> {
  const { upstreamApiKey, anthropicApiKey } = settings;
  const outer = await doorsOf(parts);
  const hasProviderKey = upstreamApiKey !== null || anthropicApiKey !== null;
  const { destinations } = parts;
  const door = keys?.door(destinations);
  const ofBudgets = await budgetDoorOf(budgets, keys, destinations);
  const lend = hasProviderKey ? await lenderOf(settings, destinations) : () => {};
  const enter: Gatekeeper = (coming) => {
    const next = (): void => {
      lend(coming.req);
      coming.next();
    };
    const within = (): void => ofBudgets({ ...coming, next });
    if (door) door.enter({ ...coming, next: within });
    else within();
  };
  return inTurn([...outer, enter]);
}

async function budgetDoorOf(budgets: Budgets, keys: OpenKeys | null, destinations: Destinations): Promise<Gatekeeper> {
  const { budgetDoor } = await import('../proxy/doors/budget-door.ts');
  return budgetDoor({ budgets, destinations, onRefused: (code, keyId) => keys?.gate.refused(code, keyId) });
}

async function lenderOf(settings: Settings, destinations: Destinations): Promise<(req: IncomingMessage) => void> {
  const { providerKeys } = await import('../proxy/doors/provider-keys.ts');
  const callers = callersOf(settings);
  return providerKeys(settings, destinations, ({ host, origin, 'sec-fetch-site': site }) =>
    isForeign({ host, origin, secFetchSite: site }, callers),
  );
}

/** The doors of extensions, for requests that come with a token of theirs. */
async function doorsOf(parts: MountParts): Promise<Gatekeeper[]> {
  const doors = parts.opened.flatMap(({ door }) => door ?? []);
  if (doors.length === 0) return [];
  const { childRpc } = await import('./mounts.ts');
  return Promise.all(doors.map((door) => door((childId) => childRpc(parts, childId))));
}

/** Several gatekeepers as one: each admits to the next. */
function inTurn([first, ...others]: readonly Gatekeeper[]): Gatekeeper | null {
  if (first === undefined) return null;
  const rest = inTurn(others);
  return rest === null ? first : (coming) => first({ ...coming, next: () => rest(coming) });
}

/** Largest body of `/rpc` and `/prune`: two texts of the largest size that is pruned, at 6 bytes a character at most. */
const MIN_RPC_BODY_BYTES = 32 * 1024 * 1024;
const BODY_BYTES_PER_CHAR = 16;

function httpFace({ host, maxInputChars }: Context['settings'], port: number): ToolFace {
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
