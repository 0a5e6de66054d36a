import type { IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { recoverCommand } from '../config/recover-command.ts';
import { pruningSettings } from '../config/settings/pruning.ts';
import { keptAnswers } from '../core/kept-answers.ts';
import type { Ownership } from '../core/ownership.ts';
import type { OnEnded } from '../core/ports/guest.ts';
import type { Traces } from '../core/ports/traces.ts';
import type { RequestPipeline } from '../core/request/pipeline.ts';
import { isHeldOut } from '../core/request/policy.ts';
import { RefusedConversations } from '../core/request/provider-verdicts.ts';
import { ShortTools } from '../core/sent/short-tools.ts';
import { isForeign } from '../core/web-origin.ts';
import { IDEMPOTENCY_TTL_MS } from '../mcp/idempotency.ts';
import type { Metrics } from '../observe/metrics.ts';
import { ByteBudget } from '../proxy/byte-budget.ts';
import { BodyDecoder } from '../proxy/decode-body.ts';
import { runOf } from '../proxy/doors/run-door.ts';
import { HistoryRefusals } from '../proxy/history-refusals.ts';
import type { Lane } from '../proxy/lane/lane.ts';
import { NotUnderstood } from '../proxy/report/not-understood.ts';
import { PrefixBreaks } from '../proxy/report/prefix-breaks.ts';
import { Reporter } from '../proxy/report/report.ts';
import { RunBook } from '../proxy/report/run-book.ts';
import { SavingWatch } from '../proxy/report/saving-watch.ts';
import { sendError } from '../proxy/send-error.ts';
import type { ModelHandler, SocketHandler } from '../proxy/server.ts';
import { AwsSigning } from '../proxy/upstream/aws-signing.ts';
import { type Destination, Destinations, type Refused, Upstreams } from '../proxy/upstream/destinations.ts';
import { LoopGuard } from '../proxy/upstream/headers.ts';
import { discardUpload } from '../proxy/upstream/unread-upload.ts';
import { WebSocketHandler } from '../proxy/websocket/handler.ts';
import { WireHandler, type WireOptions } from '../proxy/wire-handler.ts';
import { knownConversations } from '../store/known-names.ts';
import { shortConversationSeen, shortConversations } from '../store/short-tools.ts';
import type { Dialect } from '../wires/dialects/dialect.ts';
import { openaiResponses } from '../wires/dialects/openai-responses/dialect.ts';
import { providers } from '../wires/providers/all.ts';
import type { Provider } from '../wires/providers/provider.ts';
import type { Services } from './compose.ts';
import { callersOf, requestIds } from './context.ts';
import { type Guest, memberOf } from './guest.ts';
import { openHeads, openLane } from './lane.ts';
import { OwnRecordsFile } from './own-records.ts';
import { findSettingsBy, rewriterOf } from './pipeline.ts';
import { openOwnFile, storeWaitOf } from './store.ts';

/** Handling of model requests: routes, counters and shutdown. */
export interface Wires {
  readonly lane: Lane;
  readonly wireFor: (req: IncomingMessage) => ModelHandler | null;
  readonly sockets: SocketHandler;
  /** Called if a WebSocket is requested at a path without one. */
  readonly onUpgradeRefused: () => void;
  /** Called for unread requests that may belong to a session. `path` has no query. */
  readonly onPathUnknown: (path: string) => void;
  /** Counts requests that were forwarded without being understood, by reason. */
  readonly notUnderstood: NotUnderstood;
  readonly prefixBreaks: PrefixBreaks;
  /** The alarm for large requests without savings. */
  readonly savings: Pick<SavingWatch, 'alarm'>;
  /** Counts requests by agent run. */
  readonly runs: RunBook;
  /** Resolves once all finished requests are reported. Never rejects. */
  readonly reported: () => Promise<void>;
  readonly destinations: Destinations;
  /** Budget of bodies held in memory. */
  readonly received: ByteBudget;
  /** Decodes compressed bodies within the budgets. */
  readonly decoder: BodyDecoder;
  /** Number of unanswered requests. */
  readonly inProgress: () => number;
  /** Detects requests that have already passed this proxy. */
  readonly hops: LoopGuard;
  /** Flushes pending reports and closes the connections. */
  close(): Promise<void>;
}

/**
 * Share of the heap for concurrently rewritten bodies. A body of new text takes about ten times its size while being
 * decided, and half of the heap is for long-lived data.
 */
const HEAP_SHARE = 1 / 16;
/** Limit for received body bytes, as a share of the heap limit. They are stored outside the heap. */
const RECEIVED_HEAP_SHARE = 1 / 4;

/** Maximum length of logged paths, in characters. */
const MAX_LOGGED_CHARS = 200;

/** Opens forwarding and pruning of model requests, for all wires. */
export async function openWires(services: Services, metrics: Metrics, opened: readonly Guest[]): Promise<Wires> {
  const owners = memberOf(opened, 'access')?.owners;
  const seams = memberOf(opened, 'direct');
  const listeners = opened.flatMap((guest) => guest.ended ?? []);
  const ended: OnEnded = (exchange) => {
    for (const listener of listeners) listener(exchange);
  };
  const { settings, events, clock, log, failures, ledger, own } = services;
  const nextId = requestIds(clock);
  const hops = new LoopGuard(nextId().slice(-10).toLowerCase());
  const upstreams = new Upstreams(settings, hops);
  const destinations = new Destinations(settings, upstreams, (prefix) => logUnknownPrefix(services, prefix));
  const notUnderstood = new NotUnderstood();
  const prefixBreaks = new PrefixBreaks();
  const savings = savingWatch(services);
  const runs = new RunBook();
  const reporter = new Reporter({
    ...{ runs, events, clock, log, metrics, notUnderstood, prefixBreaks, savings, ledger, ended },
    cold: own.context.cold,
    shadow: settings.mode === 'shadow',
    onFailure: failures.of('reports'),
  });
  ledger.reportedBy(() => reporter.reported());
  const share = getHeapStatistics().heap_size_limit * RECEIVED_HEAP_SHARE;
  const received = new ByteBudget(share);
  const largeBodies = new ByteBudget(Math.min(LARGE_BODIES, share));
  const decoder = new BodyDecoder({ received, largeBodies });
  const bodies = { received, largeBodies, decoder };
  const heads = openHeads(services, opened);
  const options = { ...(await handlerOptions(services, { reporter, nextId, bodies }, owners)), ended, heads, seams };
  const handlers = handlersOf(services, options);
  let inProgress = 0;
  const beginRun = (run: string): (() => void) => runs.begin(run, clock.nowMs());
  const begin = (run: string): (() => void) => {
    inProgress++;
    const ended = beginRun(run);
    return () => {
      inProgress--;
      ended();
    };
  };
  const { rewriter, maxBodyBytes, newRequestId } = options;
  const ofLane = { heads, rewriter, received, maxBodyBytes, newRequestId, begin: beginRun };
  const lane = openLane(services, { ...ofLane, reporter, hasProjects: owners !== undefined });
  return {
    lane,
    inProgress: () => inProgress + lane.inProgress,
    wireFor: (req) => handlerFor(destinations.of(req), handlers, begin),
    sockets: socketHandler(services, options, { destinations, hops, runs, reporter }),
    onUpgradeRefused: () => reporter.unread('upgrade_refused'),
    onPathUnknown: (path) => reporter.unread('path_not_understood', { path: path.slice(0, MAX_LOGGED_CHARS) }),
    notUnderstood,
    prefixBreaks,
    savings,
    runs,
    reported: () => reporter.reported(),
    destinations,
    received,
    decoder,
    hops,
    async close() {
      await reporter.flush();
      await options.rewriter.flush();
      await options.ownRecords?.close();
      await upstreams.close();
    },
  };
}

/** @param begin - counts an in-flight request of a run, and returns a function to call at its end */
function handlerFor(
  to: Destination | Refused | null,
  handlers: ReturnType<typeof handlersOf>,
  begin: (run: string) => () => void,
): ModelHandler | null {
  if (to && 'refusal' in to) return refusalHandler(to);
  const operation = to?.operation;
  const handler = operation && handlers.get(to.provider)?.get(operation.dialect);
  if (!handler) return null;
  return {
    errorBody: operation.dialect.error,
    handle: (request, res) => handler.handle(request, res, { ...to, operation }).finally(begin(runOf(request))),
  };
}

function logUnknownPrefix({ log }: Services, prefix: string): void {
  // long words are masked, because they may be secrets
  const shown = prefix.slice(0, MAX_LOGGED_CHARS).replace(/[\w-]{24,}/g, '…');
  log.warn(
    { prefix: shown },
    'a path with an unknown prefix was accepted: the part before its last version segment is dropped',
  );
}

function socketHandler(
  { settings, clock }: Services,
  options: Omit<WireOptions, 'dialect' | 'cloud'>,
  {
    destinations,
    hops,
    runs,
    reporter,
  }: Pick<Wires, 'destinations' | 'hops' | 'runs'> & { readonly reporter: Reporter },
): WebSocketHandler {
  return new WebSocketHandler({
    ...options,
    dialect: openaiResponses,
    clock,
    destinationOf: (req) => socketDestination(destinations, req),
    hops,
    headersTimeoutMs: settings.upstreamTimeoutMs,
    onOpened: (req) => runs.begin(runOf(req), clock.nowMs()),
    onNotUnderstood: (reason) => reporter.unread(reason),
    onNotOpened: (status, upstreamError) => reporter.unread('websocket_not_opened', { status, upstreamError }),
  });
}

/** Creates a handler for each wire of each provider. */
function handlersOf(
  services: Services,
  options: Omit<WireOptions, 'dialect' | 'cloud'>,
): ReadonlyMap<Provider, ReadonlyMap<Dialect, WireHandler>> {
  const signing = awsSigning(services);
  const handlerOf = ({ name }: Provider, dialect: Dialect): WireHandler =>
    new WireHandler({
      ...options,
      dialect,
      cloud: name,
      signing: name === 'bedrock' ? signing : undefined,
    });
  return new Map(
    providers.map((provider) => [provider, new Map(provider.dialects.map((one) => [one, handlerOf(provider, one)]))]),
  );
}

function savingWatch({ settings, store, log, failures, alarmAfter }: Services): SavingWatch {
  const hasDefaultSizes = settings.minPruneChars <= pruningSettings.minPruneChars.fallback;
  return new SavingWatch({
    settings: { enabled: settings.enabled, shadow: settings.mode === 'shadow', hasDefaultSizes },
    log,
    async removedOn(day) {
      const sums = await store.ledger.totals({ sinceDay: day });
      const removed = sums.filter((sum) => sum.slice === 'all' && sum.day === day && sum.field === 'removed');
      return removed.reduce((all, { value }) => all + value, 0);
    },
    onFailure: failures.of('reports'),
    alarmAfter,
  });
}

/** Answers a request that is not forwarded. */
function refusalHandler({ refusal, message, errorBody }: Refused): ModelHandler {
  const handle: ModelHandler['handle'] = async (req, res) => {
    sendError(res, refusal, message, undefined, errorBody);
    discardUpload(req);
  };
  return { errorBody, handle };
}

/** Destination of a WebSocket: that of a POST to the same path, if it were a model request on the responses wire. */
function socketDestination(
  destinations: Destinations,
  { url = '', headers }: IncomingMessage,
): Destination | Refused | null {
  const to = destinations.of({ method: 'POST', url, headers });
  if (to && 'refusal' in to) return to;
  return to?.operation?.dialect === openaiResponses && to.operation.purpose === 'generate' ? to : null;
}

function awsSigning({ settings, clock }: Services): AwsSigning {
  const { accessKeyId, secretAccessKey, sessionToken, region, sign: signs } = settings.aws;
  const credentials =
    accessKeyId !== null && secretAccessKey !== null
      ? { accessKeyId, secretAccessKey, sessionToken: sessionToken ?? undefined }
      : null;
  return new AwsSigning({ credentials, signs, region, clock });
}

/** Options shared by the handlers of all wires, above all the decision cache. */
async function handlerOptions(
  services: Services,
  {
    reporter,
    nextId,
    bodies,
  }: {
    readonly reporter: Reporter;
    readonly nextId: () => string;
    readonly bodies: Pick<WireOptions, 'received' | 'largeBodies' | 'decoder'>;
  },
  owners: Ownership | undefined,
): Promise<
  Omit<WireOptions, 'dialect' | 'cloud'> & {
    readonly rewriter: RequestPipeline;
    readonly ownRecords: OwnRecordsFile | undefined;
  }
> {
  const { settings, store, clock, failures, decisionCache, turns, scorer, projectBook, behind } = services;
  const onFailure = failures.of('pruning');
  const refused = new RefusedConversations(store);
  const loadRefused = () => refused.load().catch((err: unknown) => onFailure('left_alone_not_read', err));
  const [, isKnownConversation] = await Promise.all([loadRefused(), knownNames(services)]);
  store.onRefused(() => void loadRefused());
  const callers = callersOf(settings);
  const ownRecords = ownRecordsOf(services);
  const traces = settings.traces ? await tracesOf(services) : undefined;
  const command = recoverCommand(settings, services.env?.PATH ?? '', process.argv[1] ?? '');
  return {
    rewriter: rewriterOf(settings, {
      store,
      clock,
      refused,
      onFailure,
      decisionCache,
      turns,
      recoverCommand: command,
      scorer: scorer ?? undefined,
      isKnownConversation,
      mayHoldOut: (project) => projectBook.holdoutOf(project) > 0,
      isHeldOut: (id, project) => isHeldOut(id, projectBook.holdoutOf(project)),
      findOf: findSettingsBy(projectBook, settings),
      shortTools: await openShortTools(services, owners),
      ownRecords,
      traces,
      behind,
      segments: services.own.context.segments(owners !== undefined),
      answers: keptAnswers(store.records, IDEMPOTENCY_TTL_MS),
      owners,
    }),
    traces,
    ownRecords,
    refused,
    modeOf: (project) => projectBook.modeOf(project),
    isForeign: ({ host, origin, 'sec-fetch-site': site }) => isForeign({ host, origin, secFetchSite: site }, callers),
    maxBodyBytes: settings.maxBodyBytes,
    budget: new ByteBudget(getHeapStatistics().heap_size_limit * HEAP_SHARE),
    lateBudget: new ByteBudget(0), // one at a time
    ...bodies,
    timeoutMs: settings.timeoutMs,
    storeWait: storeWaitOf(settings, store),
    refusals: new HistoryRefusals(),
    newRequestId: () => {
      services.onRequest();
      return nextId();
    },
    onReport: (report, bytes) => reporter.report(report, bytes),
    seen: services.seen,
    hasProjects: owners !== undefined,
    onFailure: failures.of('forwarding'),
  };
}

/** Which conversations have a name; `undefined` while the store cannot be read. */
function knownNames({ store, failures }: Services) {
  return knownConversations(store.sql).catch((err: unknown) => {
    failures.of('pruning')('names_not_read', err);
    return undefined;
  });
}

/** Loads the tracing library only if traces are enabled. */
async function tracesOf({ version, log }: Services): Promise<Traces> {
  const { openTraces } = await import('../observe/traces.ts');
  return openTraces(version, () =>
    log.warn('MCP_PRUNER_TRACES is on, but no OpenTelemetry SDK is registered: load one with NODE_OPTIONS=--import'),
  );
}

/** A replica on a database also keeps in a file what it has sent. */
function ownRecordsOf({ settings, store, behind, clock, failures }: Services): OwnRecordsFile | undefined {
  if (settings.databaseUrl === null) return undefined;
  const open = () => openOwnFile(settings, clock);
  const ttlMs = settings.pruneIdTtlS * 1000;
  return new OwnRecordsFile({ open, shared: store, ttlMs, behind, clock, onFailure: failures.of('pruning') });
}

/** Reads which conversations have shortened tools; if the store is unavailable, the first request reads them. */
async function openShortTools(
  { settings, store, clock, failures }: Services,
  owners: Ownership | undefined,
): Promise<ShortTools> {
  const onFailure = failures.of('pruning');
  const shortTools = new ShortTools({
    ...{ store, clock, owners, onFailure },
    load: () => shortConversations(store.sql),
    seen: (conversation, atMs) => shortConversationSeen(store.sql, conversation, atMs),
    ttlMs: settings.pruneIdTtlS * 1000,
  });
  await shortTools.load().catch((cause: unknown) => onFailure('tools_unknown', cause));
  return shortTools;
}

/** Maximum total size of bodies above the limit that are read concurrently. */
const LARGE_BODIES = 256 * 1024 * 1024;
