import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import picomatch from 'picomatch';
import type { RunFigures } from '../core/ports/run-figures.ts';
import type { Allowed } from '../core/web-origin.ts';
import { errorTable } from '../errors/errors.ts';
import { type LocalGuardOptions, localGuard } from '../mcp/guard.ts';
import { enabledFlags } from '../mcp/info.ts';
import { INSTRUCTIONS } from '../mcp/initialize.ts';
import { pruneRouter } from '../mcp/prune-route.ts';
import { rpcRouter } from '../mcp/rpc-routes.ts';
import { McpServer } from '../mcp/server.ts';
import { ToolRegistry } from '../mcp/tool.ts';
import type { HealthReport } from '../mcp/tools/health.ts';
import type { Metrics } from '../observe/metrics.ts';
import { viewerOf } from '../proxy/doors/gatekeeper.ts';
import { runOf } from '../proxy/doors/run-door.ts';
import { runPath } from '../proxy/doors/run-path.ts';
import { onDemand } from '../proxy/loaded-later.ts';
import type { SavingWatch } from '../proxy/report/saving-watch.ts';
import { contextOf } from '../proxy/request-context.ts';
import { sendError } from '../proxy/send-error.ts';
import { mayBeSession } from '../proxy/unknown-path.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import type { LoopGuard } from '../proxy/upstream/headers.ts';
import { passthrough } from '../proxy/upstream/passthrough.ts';
import type { Upstream } from '../proxy/upstream/upstream.ts';
import type { StoreHandle } from '../store/handle.ts';
import { openIdempotency, openPruners, openResources, type Services } from './compose.ts';
import { callersOf, type Events, signInsOf, withoutAddresses } from './context.ts';
import type { Finding } from './finding.ts';
import type { Guest, Rows } from './guest.ts';
import type { PageAccess } from './page/access.ts';
import { openTools, type ToolFace, type Toolset } from './tools.ts';

export interface MountParts extends Services {
  readonly tools: Toolset;
  /** Enabled parts. */
  readonly opened: readonly Guest[];
  readonly destinations: Destinations;
  readonly hops: LoopGuard;
  readonly onPathUnknown: (path: string) => void;
  readonly metrics: Metrics;
  /** Figures of a run, see `figuresOfRun`. @throws StoreUnavailable */
  readonly runFigures: (run: string, waits: boolean) => Promise<RunFigures>;
  /** The alarm for large requests without savings. */
  readonly savings: Pick<SavingWatch, 'alarm'>;
  /** Aborted when the server stops, so that endless answers do not delay it. */
  readonly stopping: AbortSignal;
  /** The tools of `/rpc`. `maxInputBytes` limits the body of `/rpc`; `/prune` accepts half as much. */
  readonly face: ToolFace;
}

/** Handles requests for its routes, and passes on all others. */
export type View = RequestHandler;

/** A viewer whose requests are answered from a separate view. */
export interface Viewing {
  /** The viewer's project. */
  readonly project: string;
  /** Event log that marks added events as the viewer's. */
  readonly events: Events;
  /** Assigns originals to the viewer's project. */
  readonly own: (pruneIds: readonly string[]) => Promise<void>;
  /** The part of the store that the viewer may see; `null` for the whole store. */
  readonly store: StoreHandle | null;
  /** The projects that the viewer may see; `null` for all. */
  readonly projects: readonly string[] | null;
  readonly pageAccess: PageAccess;
  /** Server findings that a viewer of some projects may see. */
  readonly findings: (health: HealthReport) => readonly Finding[];
  readonly chargeTexts: NonNullable<ViewParts['chargeTexts']>;
}

/** Inputs with which a part selects views. */
export interface OpenView {
  readonly parts: MountParts;
  /** Permitted origins and hosts. */
  readonly allowed: Allowed;
  /** Records a sign-in on the page. */
  readonly onSignedIn: (keyId: string) => void;
  readonly openView: (viewing: Viewing) => View;
}

/** Inputs for the routes of one viewer. Without a part that selects views, there is only one viewer. */
export interface ViewParts extends MountParts {
  readonly pageAccess?: PageAccess;
  /** Charges texts to prune to the limits of the request's key. @throws PrunerError beyond them */
  readonly chargeTexts?: (req: IncomingMessage, texts: number) => Promise<void>;
  /** The project of a narrow viewer. */
  readonly viewerProject?: string;
  /** The projects that a narrow viewer may see. */
  readonly viewerProjects?: readonly string[];
  /** The viewer sees only some projects, without optional parts and server-wide data. */
  readonly isNarrow?: boolean;
}

/**
 * Routes in mounting order. `localGuard(access)` admits the callers permitted by the settings. A new route is a
 * function and a row. Routes that show data belong to `views`, and see only their viewer's store.
 */
const views: readonly ((app: Express, parts: ViewParts, access: LocalGuardOptions) => void)[] = [
  mountRpc,
  mountPrune,
  mountFigures,
  mountPage,
];

/** Serves `/rpc` to one child, with the tools that `childTools` allows. */
export function childRpc({ tools, settings, version, failures, face }: MountParts, childId: string): RequestListener {
  const isGiven = picomatch([...settings.children.tools]);
  const offered = tools.registry.list(['rpc']).filter(({ name }) => isGiven(name));
  const registry = new ToolRegistry(offered, enabledFlags(settings));
  const server = new McpServer({ registry, faces: ['rpc'], version, caller: { childId } });
  return express()
    .disable('x-powered-by')
    .use('/', rpcRouter({ server, maxBodyBytes: face.maxInputBytes, onFailure: failures.of('rpc') }));
}

/** Builds the handler of all requests except model requests and `/health`. */
export async function openMounts(parts: MountParts): Promise<RequestListener> {
  const { allowedHosts, allowedOrigins, host, authToken } = parts.settings;
  const app = express().disable('x-powered-by');
  const open: LocalGuardOptions = { allowedHosts: [...allowedHosts, host], allowedOrigins };
  const access = { ...open, bearerToken: authToken ?? undefined };
  const viewOf = (viewParts: ViewParts, to: LocalGuardOptions): Express => {
    const view = express().disable('x-powered-by');
    for (const mount of views) mount(view, viewParts, to);
    return view;
  };
  mountMetrics(app, parts, access);
  mountParts(app, parts, open);
  const ownViews = viewsOf(parts);
  app.use(
    ownViews === undefined
      ? viewOf(parts, access)
      : await ownViews.open({
          parts,
          allowed: callersOf(parts.settings),
          onSignedIn: signInsOf(parts),
          // callers with a view of their own were already admitted by the part
          openView: (viewing) => viewOf(viewPartsOf(parts, viewing), { ...open, anyHost: true }),
        }),
  );
  mountPassthrough(app, parts);
  app.use((req, res) => {
    const path = req.path.startsWith('/k/') ? '/k/…' : req.path; // this handler neither requires nor logs keys
    sendError(res, 'not_found', `Nothing at ${req.method} ${path}. ${errorTable.not_found.hint}`);
  });
  app.use(onThrown(parts));
  return app;
}

/** The views of the enabled part with per-viewer data, if any. */
function viewsOf({ opened }: MountParts): Rows['views'] {
  return opened.find(({ rows }) => rows.views !== undefined)?.rows.views;
}

/** The services restricted to what a viewer may see. */
function viewPartsOf(
  parts: MountParts,
  { project, events, own, store, projects, findings, pageAccess, chargeTexts }: Viewing,
): ViewParts {
  const further = { pageAccess, chargeTexts };
  if (store === null) return { ...parts, ...openPruners({ ...parts, events }, own), ...further };
  const context = { ...parts, store, events };
  const narrowed = {
    ...context,
    ...openPruners(context, own),
    contextGc: parts.own.context.over(context, parts.flushSeen),
    ledgerView: parts.own.ledger.over(context),
    recall: parts.own.recall.over(context, parts.flushSeen),
    resources: openResources(context),
    idempotency: openIdempotency(context),
    isNarrow: true,
    viewerProject: project,
    viewerProjects: projects ?? [],
    health: () => withoutAddresses(parts.health()),
    examine: async () => findings(parts.health()),
  };
  return { ...narrowed, tools: openTools(narrowed, parts.face), ...further };
}

/** Answers errors that reached express as JSON, like all other errors, and without a stack trace. */
function onThrown({ log }: MountParts): ErrorRequestHandler {
  return (err: unknown, _req, res, _next) => {
    const status = err instanceof Error && 'status' in err && typeof err.status === 'number' ? err.status : 500;
    if (status >= 400 && status < 500) {
      sendError(res, 'invalid_request', 'The request cannot be read: correct its path and fields.', status);
      return;
    }
    log.error({ err }, 'a request failed in a route');
    sendError(res, 'internal_error');
  };
}

function mountMetrics(app: Express, parts: MountParts, access: LocalGuardOptions): void {
  const guard = localGuard(access);
  const views = viewsOf(parts);
  const admit: RequestHandler = (req, res, next) => {
    // metrics cover all projects, so they need the token, or a viewer of all projects
    if (views && viewerOf(req)?.projects === 'all') next();
    else if (views && access.bearerToken === undefined) sendError(res, views.refusal);
    else guard(req, res, next);
  };
  app.get('/metrics', admit, async (_req, res) => {
    const { contentType, text } = await parts.metrics.page();
    res.setHeader('content-type', contentType);
    res.end(text);
  });
}

/** Mounts routes of parts that have their own token. The token of other endpoints does not grant access. */
function mountParts(app: Express, parts: MountParts, open: LocalGuardOptions): void {
  for (const { routes } of parts.edition.parts) {
    const token = routes?.token(parts.settings) ?? null;
    if (routes === undefined || token === null) continue;
    const listener = onDemand(() => routes.open(parts, parts.opened), parts.failures.of('loading'));
    app.use(routes.path, localGuard({ ...open, bearerToken: token }), listener);
  }
}

function mountRpc(
  app: Express,
  { tools, version, log, failures, face, chargeTexts }: ViewParts,
  access: LocalGuardOptions,
): void {
  const server = new McpServer({
    ...tools,
    faces: ['rpc'],
    version,
    instructions: INSTRUCTIONS,
    onCall: ({ fault, ...record }) => {
      if (fault === undefined) log.debug(record, 'rpc');
      else log.error({ ...record, err: fault }, 'rpc failed');
    },
  });
  const guard = localGuard({ ...access, tokenInUrl: true });
  const router = rpcRouter({
    server,
    maxBodyBytes: face.maxInputBytes,
    onFailure: failures.of('rpc'),
    scopeOf: (req) => contextOf(req, '').scope,
    chargeTexts,
  });
  app.use(['/rpc', '/mcp'], guard, router);
}

function mountPrune(
  app: Express,
  { settings, ownPruner, log, failures, face, chargeTexts }: ViewParts,
  access: LocalGuardOptions,
): void {
  const router = pruneRouter({
    pruner: ownPruner,
    options: {
      maxPruneRatio: settings.maxPruneRatio,
      minKeepLines: settings.minKeepLines,
      timeoutMs: settings.timeoutMs,
      annotateLines: settings.annotateLines,
      includeMarkers: settings.includeMarkers !== false,
    },
    maxBodyBytes: Math.ceil(face.maxInputBytes / 2), // a single text, whereas a body of /rpc has room for two
    onResult: ({ pruneId, stats, warnings }) => log.info({ pruneId, ...stats, warnings }, 'prune'),
    onFailure: failures.of('prune'),
    chargeTexts,
  });
  app.use('/prune', localGuard(access), router);
}

/** Mounts the figures of parts. With keys, a viewer of some projects only sees its own project. */
function mountFigures(
  app: Express,
  { opened, viewerProject, failures, runFigures }: ViewParts,
  access: LocalGuardOptions,
): void {
  const guard = localGuard(access);
  const onFailure = failures.of('loading');
  // requests of a run have lost this prefix, and another key has other runs with the same id
  app.get(runPath(':run'), guard, (req, res) => {
    runFigures(runOf(req), req.query.wait === '1').then(
      (figures) => res.json(figures),
      () => res.status(503).json({}),
    );
  });
  for (const [path, figures] of opened.flatMap((one) => Object.entries(one.rows.figures ?? {}))) {
    app.get(path, guard, (req, res) => {
      const at = req.url.indexOf('?');
      figures(new URLSearchParams(at < 0 ? '' : req.url.slice(at)), viewerProject).then(
        (shown) => res.json(shown),
        (cause: unknown) => {
          onFailure('figures_not_read', cause, { path });
          sendError(res, 'internal_error');
        },
      );
    });
  }
}

/** Loads the page on its first request, because most processes never show it. */
function mountPage(app: Express, parts: ViewParts): void {
  const { page: openPage } = parts.edition;
  if (!parts.settings.page || openPage === undefined) return;
  const page = onDemand(() => openPage(parts), parts.failures.of('loading'));
  app.get('/', (req, res) => page(req, res));
  app.use((req, res, next) => {
    if (req.path === '/page' || req.path.startsWith('/page/')) page(req, res);
    else next();
  });
}

function mountPassthrough(app: Express, parts: MountParts): void {
  const { destinations, settings, onPathUnknown } = parts;
  const forwarders = new WeakMap<Upstream, RequestHandler>();
  app.use((req, res, next) => {
    const to = destinations.of(req);
    if (to === null || 'refusal' in to) return next();
    if (mayBeSession(req.method, req.path, req.headers, settings.minPruneChars)) onPathUnknown(req.path);
    const forward = forwarders.get(to.upstream) ?? passthroughTo(to.upstream, parts);
    forwarders.set(to.upstream, forward);
    forward(req, res, next);
  });
}

function passthroughTo(upstream: Upstream, { destinations, settings, hops, log }: MountParts): RequestHandler {
  return passthrough({
    connection: upstream.connection,
    hops,
    destinations,
    headersTimeoutMs: settings.upstreamTimeoutMs,
    bodyTimeoutMs: settings.upstreamTimeoutMs,
    onUpstreamError: (code) =>
      log.warn({ upstreamError: code }, 'the upstream failed while a request was passed through'),
  });
}
