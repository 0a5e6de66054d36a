import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Settings } from '../config/settings.ts';
import type { PruneTextResult } from '../core/calls/api.ts';
import type { BudgetGate } from '../core/ports/budgets.ts';
import { isForeign, isRebound } from '../core/web-origin.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import { createMetrics, type LabelledGauge, type Metrics } from '../observe/metrics.ts';
import type { Gatekeeper } from '../proxy/doors/gatekeeper.ts';
import { pageDoor } from '../proxy/doors/page-door.ts';
import { runDoor } from '../proxy/doors/run-door.ts';
import { type LoadedLater, loadSoon, onDemand } from '../proxy/loaded-later.ts';
import { sendError } from '../proxy/send-error.ts';
import type { Routes } from '../proxy/server.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import { discardUpload } from '../proxy/upstream/unread-upload.ts';
import { openServices, type Services } from './compose.ts';
import { type Context, callersOf, noteSettings, requestIds } from './context.ts';
import { type Guest, type PartPlace, partsOn } from './guest.ts';
import type { MountParts } from './mounts.ts';
import { figuresOfRun } from './run-figures.ts';
import { openTools, type ToolFace } from './tools.ts';
import { openWires, type Wires } from './wires.ts';

/** Label values with their own counter; further ones count as `other`. */
const MAX_LABEL_VALUES = 50;

/** Run of budget events, which belong to no conversation. */
const BUDGETS_RUN = 'budgets';

/** All request handlers, and their shutdown. */
interface OpenRoutes extends Routes {
  /** Health including the backend's state, which is known from here on. */
  health(): HealthReport;
  /** Whether everything can be served. If the store fails later, requests are forwarded unchanged. */
  ready(): boolean;
  /** Settles when everything has loaded or failed to load. Never rejects. */
  readonly loaded: Promise<void>;
  /** Ends endless answers, such as the event stream of an open page. */
  endStreams(): void;
  /** Stops started children while they can still reach the model. */
  stopChildren(): Promise<void>;
  /** Writes pending data and closes everything, including the store. */
  close(): Promise<void>;
}

/**
 * Builds the request handlers. It runs after the port is open, because loading the libraries takes most of the start-up
 * time.
 *
 * @param port - the port listened on
 */
export async function openRoutes(context: Context, port: number): Promise<OpenRoutes> {
  const { settings } = context;
  const metrics = metricsFor(context, {
    inProgress: () => wires.inProgress(),
    queued: () => services.ledger.queued,
    dropped: () => services.ledger.dropped,
    hasAlarm: () => wires.savings.alarm !== null,
    ofParts: () => opened.flatMap(({ rows }) => rows.gauges ?? []),
  });
  const services = await openServices(context, (result) => countPruned(metrics, result), {
    onBilled: (turn) => metrics.billed(turn),
    onFolded: (figures) => metrics.folded(figures),
    onCompaction: (kind) => metrics.compaction(kind),
  });
  const face = httpFace(settings, port);
  await services.projectBook.start();
  const opened = await openParts(services, port);
  const budgets = await openBudgets(services, opened);
  const tools = openTools(services, face, [], opened);
  services.budgetsAre(budgets);
  const wires = await openWires(services, metrics, opened);
  const { wireFor, sockets, onUpgradeRefused, onPathUnknown, savings, destinations, hops, reported, runs } = wires;
  const sources = { book: runs, reported, ledger: services.ledger, store: services.store.ledger, opened };
  const stopping = new AbortController();
  const mountParts: MountParts = {
    ...services,
    ...{ tools, face, opened, savings, destinations, hops, onPathUnknown, metrics },
    runFigures: (run, waits) => figuresOfRun(sources, run, waits),
    stopping: stopping.signal,
  };
  const rest = mountsSoon(mountParts);
  const front = await frontFor(mountParts, budgets, wires);
  return {
    lane: wires.lane,
    wireFor,
    gatekeeper: chained([pageDoor(callersOf(settings).origins), runDoor], front),
    sockets,
    onUpgradeRefused,
    hops,
    app: rest.listener,
    loaded: Promise.all([rest.settled, services.own.ledger.started, noteSettings(context)]).then(() => undefined),
    health: () => ({
      ...services.health(),
      routes: rest.state(),
      ...healthOf(wires),
      ...healthOfParts(opened),
      ...healthOfLedger(services),
    }),
    ready: () => rest.state() === 'ok',
    endStreams: () => stopping.abort(),
    stopChildren: async () => {
      await Promise.all(opened.map((one) => one.stop?.()));
    },
    async close() {
      await wires.close(); // the last reports may still pass data to the parts
      await Promise.all(opened.map((one) => one.close?.()));
      await services.close();
    },
  };
}

/** A database may refuse bills, and accept everything else. */
function healthOfLedger({ ledger: { dropped, failingSinceMs } }: Services) {
  return {
    ledger_dropped: dropped || undefined,
    ...(failingSinceMs !== null && {
      status: 'degraded' as const,
      ledger_failing_since: new Date(failingSinceMs).toISOString(),
    }),
  };
}

function healthOfParts(opened: readonly Guest[]): Readonly<Record<string, unknown>> {
  return Object.assign({}, ...opened.map(({ rows }) => rows.health?.()));
}

function healthOf({ notUnderstood, prefixBreaks, savings }: Wires) {
  return {
    not_understood: notUnderstood.report(),
    prefix_breaks: prefixBreaks.report(),
    saving_alarm: savings.alarm ?? undefined,
  };
}

/** Loads express and all its routes. */
function mountsSoon(parts: MountParts): LoadedLater {
  return loadSoon(async () => {
    const [{ openMounts }] = await Promise.all([import('./mounts.ts'), parts.metrics.loaded()]);
    return openMounts(parts);
  }, parts.failures.of('loading'));
}

/** Sources of the gauges, once available. */
interface GaugeSources {
  readonly inProgress: () => number;
  readonly queued: () => number;
  readonly dropped: () => number;
  readonly hasAlarm: () => boolean;
  readonly ofParts: () => readonly LabelledGauge[];
}

function metricsFor(
  { settings, version, store }: Context,
  { inProgress, queued, dropped, hasAlarm, ofParts }: GaugeSources,
): Metrics {
  return createMetrics({
    version,
    labels: settings.metricsLabels,
    maxValues: MAX_LABEL_VALUES,
    storeSizes: async () => {
      const problem = store.problem();
      if (problem !== null) throw problem;
      return store.stats();
    },
    labelledGauges: ofParts,
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
        name: 'ledger_dropped_rows',
        help: 'Requests and figures that the store refused, since the start.',
        read: dropped,
      },
      {
        name: 'saving_alarm',
        help: 'Whether requests with large results save nothing.',
        read: () => (hasAlarm() ? 1 : 0),
      },
    ],
  });
}

/** Opens the enabled parts. */
async function openParts(services: Services, port: number): Promise<Guest[]> {
  const { edition, settings } = services;
  const { host, authToken } = settings;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  const place: PartPlace = { url: () => url, faces: ['rpc'], mayStart: authToken !== null };
  return Promise.all(partsOn(edition, settings, 'http').map((part) => part.open(services, place)));
}

/**
 * Enforces the monthly budgets of keys and projects. A nearly exhausted budget is logged and recorded in the audit
 * trail.
 */
async function openBudgets(services: Services, opened: readonly Guest[]): Promise<BudgetGate> {
  const { events, clock, log, projectBook, own } = services;
  const budgets = await own.ledger.budgets({
    budgets: () => [...opened.flatMap(({ rows }) => rows.budgets?.() ?? []), ...projectBook.budgets()],
    onWarn: ({ of, name, dollars: budget }, dollars) => {
      const payload = { of, name, budget, spent: Math.round(dollars * 100) / 100 };
      log.warn(payload, 'a monthly budget is nearly used up');
      const about = { tsMs: clock.nowMs(), level: 'warn', runId: BUDGETS_RUN, opId: null, audit: true } as const;
      const project = of === 'project' ? name : undefined;
      events.add([{ ...about, kind: 'budget_warned', payload, project }]);
    },
  });
  const refresh = (): void => void budgets.refresh();
  projectBook.onChanged(refresh);
  for (const { access } of opened) access?.onChanged(refresh);
  return budgets;
}

/** Gatekeepers in order: doors of parts, budgets, and finally the provider keys lent by this server. */
async function frontFor(parts: MountParts, budgets: BudgetGate, { received, decoder }: Wires): Promise<Gatekeeper> {
  const { opened, destinations, settings, ledger, clock } = parts;
  const { budgetDoor } = await import('../proxy/doors/budget-door.ts');
  const ofBudgets = budgetDoor({
    ...{ budgets, destinations, ledger, clock, received, decoder },
    maxBodyBytes: settings.maxBodyBytes,
    newRequestId: requestIds(clock),
    onRefused: (code, keyId) => {
      for (const { access } of opened) access?.onOverBudget(code, keyId);
    },
  });
  const lends = settings.upstreamApiKey !== null || settings.anthropicApiKey !== null;
  const lending: Gatekeeper = lends ? await lenderOf(settings, destinations) : ({ next }) => next();
  return chained([pagesDoor(parts), ...(await doorsOf(parts))], chained([ofBudgets], lending));
}

/** Refuses model requests from web pages by DNS rebinding. */
function pagesDoor({ settings, destinations }: MountParts): Gatekeeper {
  const callers = callersOf(settings);
  return ({ req, answer, next }) => {
    const { host, origin, 'sec-fetch-site': site } = req.headers;
    const caller = { host, origin, secFetchSite: Array.isArray(site) ? site[0] : site };
    if (!isRebound(caller, callers) || destinations.routeOf(req) === null) return next();
    sendError(answer(), 'forbidden_host', undefined, undefined, destinations.errorBodyFor(req));
    discardUpload(req);
  };
}

/** Adds the proxy's own keys to requests, and masks them in answers. */
async function lenderOf(settings: Settings, destinations: Destinations): Promise<Gatekeeper> {
  const [{ providerKeys }, { lenders, lentKeys, maskAnswer, SecretMask }] = await Promise.all([
    import('../proxy/doors/provider-keys.ts'),
    import('../proxy/doors/lent-keys.ts'),
  ]);
  const callers = callersOf(settings);
  const lend = providerKeys(settings, destinations, ({ host, origin, 'sec-fetch-site': site }) =>
    isForeign({ host, origin, secFetchSite: site }, callers),
  );
  const lendTo = (req: IncomingMessage, res: () => ServerResponse): boolean => {
    const key = lend(req);
    if (key !== null) maskAnswer(res(), new SecretMask(key));
    return key !== null;
  };
  return ({ req, answer, next, kind }) => {
    if (kind === 'request') {
      if (lendTo(req, answer)) lenders.set(req, (further, res) => void lendTo(further, () => res));
    } else {
      const key = lend(req);
      if (key !== null) lentKeys.set(req, new SecretMask(key));
    }
    next();
  };
}

/** Doors of parts, in the order of the list. */
async function doorsOf(parts: MountParts): Promise<Gatekeeper[]> {
  const doors = parts.opened.flatMap(({ rows }) => rows.door ?? []);
  if (doors.length === 0) return [];
  const onFailure = parts.failures.of('loading');
  const rpc = (childId: string): RequestListener =>
    onDemand(async () => (await import('./mounts.ts')).childRpc(parts, childId), onFailure);
  return Promise.all(doors.map((door) => door({ rpc, destinations: parts.destinations })));
}

/** Chains gatekeepers: each one admits to the next. */
function chained(first: readonly Gatekeeper[], last: Gatekeeper): Gatekeeper {
  return first.reduceRight((inner, outer) => (coming) => outer({ ...coming, next: () => inner(coming) }), last);
}

/**
 * Body limit of `/rpc`: at least this many bytes, and room for two texts of maximum size, at up to 6 bytes per
 * character.
 */
const MIN_RPC_BODY_BYTES = 32 * 1024 * 1024;
const BODY_BYTES_PER_CHAR = 16;

function httpFace({ host, maxInputChars }: Context['settings'], port: number): ToolFace {
  const http = { enabled: true, host, path: '/rpc', enableJson: true, stateless: true, port };
  return {
    faces: ['rpc'],
    transports: () => ({ stdio: { enabled: false }, http }),
    stays: false,
    // oversized texts must still reach prune_text, which returns them whole with a warning
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
