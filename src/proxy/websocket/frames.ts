import type { OnEnded } from '../../core/ports/guest.ts';
import type { SeamExchange, SeamSeat } from '../../core/ports/seams.ts';
import type { Clock } from '../../core/ports.ts';
import type { RequestPipeline } from '../../core/request/pipeline.ts';
import type { RefusedConversations } from '../../core/request/provider-verdicts.ts';
import { errorTable, reasonOf } from '../../errors/errors.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';
import { field, parsed } from '../../wires/json/value.ts';
import type { ProviderName } from '../../wires/providers/facts.ts';
import { type PrunedRequest, PruneStep, type PruneStepOptions } from '../prune-step.ts';
import { hasFailed, type RequestReport } from '../report/request-report.ts';
import { type RequestContext, senderOf, withRequestId } from '../request-context.ts';
import { ownFields } from '../upstream/headers.ts';
import type { Exchange } from '../upstream/pass-on.ts';
import type { BridgeWatch } from './bridge.ts';
import { FrameExchange } from './exchange.ts';
import { LIMITS, RESPONSE_CREATE, typeOfFrame } from './frame-type.ts';
import { type Beginning, wholeOf } from './whole-history.ts';

export interface FrameOptions extends PruneStepOptions {
  /** The wire of the requests. */
  readonly dialect: Dialect;
  readonly rewriter: RequestPipeline;
  readonly refused: RefusedConversations;
  readonly newRequestId: () => string;
  /** Called when a request has ended. */
  readonly onReport: (report: () => RequestReport, bytes: number) => void;
  /** Gets limits that are reported outside any request. */
  readonly ended?: OnEnded | undefined;
  /** Whether data belongs to projects. */
  readonly hasProjects?: boolean;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Replays summaries by the provider; absent without that part. */
  readonly seams?: SeamSeat | undefined;
  /** Called once per connection if its frames are forwarded unread because their format is unknown. */
  readonly onNotUnderstood: (reason: string) => void;
}

/** Facts about a connection. */
export interface Connected {
  /** The context of the upgrade request. */
  readonly context: RequestContext;
  /** Headers of the upstream's answer to the upgrade: name, value, … */
  readonly fields: readonly string[];
  /** Scheme and host of the upstream. */
  readonly origin: string;
  /** Whether a page of another origin may have opened the connection: nothing is read or stored. */
  readonly foreign: boolean;
  /** The upstream's provider. */
  readonly cloud: ProviderName;
  /** Sends one of the proxy's own messages to the upstream. */
  readonly send: (text: Buffer) => void;
  /** Sends one of the proxy's own messages to the client. */
  readonly reply: (text: Buffer) => void;
  /** Called when the connection has ended. */
  readonly onClosed: () => void;
}

/** Maximum number of events with limits kept per answer. */
const MAX_LIMIT_EVENTS = 100;
/** Clients send the same request again. */
const BUSY = 503;
/** Errors caused by the connection, not by cuts: resending the request unpruned would not help. */
const OF_CONNECTION = new Set(['previous_response_not_found', 'websocket_connection_limit_reached']);

/** Prunes and reports the requests in the frames of one connection. */
export class Frames implements BridgeWatch {
  readonly #options: FrameOptions;
  readonly #connected: Connected;
  readonly #step: PruneStep;
  #current: FrameExchange | null = null;
  /** The last frame that only prepared the connection, with the id by which the next one continues it. */
  #beginning: Beginning | null = null;
  /** A request arrived before the previous one was answered, so events cannot be attributed. */
  #overlapping = false;
  #ended = false;
  /** Limits logging: a client may send thousands of unread frames, which would fill the disk. */
  #reportedUnread = false;

  constructor(options: FrameOptions, connected: Connected) {
    this.#options = options;
    this.#connected = connected;
    this.#step = new PruneStep(options);
    if (!connected.foreign) this.#noteLimits(ownFields(connected.fields), []);
  }

  /** Whether an answer is in progress. */
  get isBusy(): boolean {
    return this.#current !== null;
  }

  fromClient(data: Buffer, isBinary: boolean): Buffer | Promise<Buffer | null> {
    if (this.#connected.foreign) return data;
    const type = isBinary ? '' : typeOfFrame(data);
    if (type === '') this.#reportUnread();
    return type === RESPONSE_CREATE ? this.#request(data) : data;
  }

  fromUpstream(data: Buffer, isBinary: boolean): boolean {
    const exchange = this.#current;
    if (isBinary || this.#connected.foreign) return true;
    try {
      if (exchange === null) {
        if (typeOfFrame(data) === LIMITS) this.#noteLimits([], [data]);
        return true;
      }
      return this.#event(exchange, data);
    } catch (cause) {
      this.#options.onFailure(reasonOf(cause), cause, exchange ? { requestId: exchange.requestId } : {});
      return true;
    }
  }

  closed(clientFirst: boolean): void {
    this.#ended = true;
    if (clientFirst) this.#end({ kind: 'client_gone', status: 0 });
    else this.#answered(this.#current?.started === true ? 200 : 502, 'reset');
    this.#connected.onClosed();
  }

  /** Records limits reported outside any request, such as in the answer to the upgrade. */
  #noteLimits(fields: readonly string[], limitEvents: readonly Buffer[]): void {
    const { ended, clock } = this.#options;
    const nothing = { conversationId: '', model: '', usage: null, isAnswer: false, hourCache: false, status: 101 };
    const nowMs = Math.trunc(clock.nowMs());
    const times = { startedMs: nowMs, endedMs: nowMs };
    ended?.({ ...senderOf(this.#connected.context, ''), ...nothing, ...times, fields, limitEvents });
  }

  #reportUnread(): void {
    if (this.#reportedUnread) return;
    this.#reportedUnread = true;
    this.#options.onNotUnderstood('frame_not_understood');
  }

  async #request(frame: Buffer): Promise<Buffer | null> {
    const { dialect, newRequestId } = this.#options;
    this.#overlapping = this.#current !== null;
    this.#answered(200);
    const requestId = newRequestId();
    const startedAt = performance.now();
    const context = withRequestId(this.#connected.context, requestId);
    const pruned = await this.#step.prune(context, { body: frame, dialect, purpose: 'generate' });
    const pruneMs = performance.now() - startedAt;
    const seam = await this.#enterSeams(frame, pruned, context, startedAt);
    const sent = seam?.swapped?.body ?? pruned.changed ?? frame;
    const { hasProjects = false, modeOf } = this.#options;
    const { enabled, shadow: isShadow } = modeOf(context.scope.project);
    const options = { dialect, cloud: this.#connected.cloud, hasProjects };
    const about = { context, options, isOff: context.isOff || !enabled, isShadow };
    this.#current = new FrameExchange({ original: frame, sent, seam, pruned, pruneMs, ...about });
    if (this.#ended) this.#end({ kind: 'client_gone', status: 0 });
    if (pruned.retry !== true) return sent;
    const body = dialect.error(BUSY, 'server_busy', errorTable.server_busy.hint).toString('utf8');
    this.#connected.reply(
      Buffer.from(JSON.stringify({ type: 'error', status: BUSY, error: field(parsed(body), 'error') })),
    );
    this.#answered(BUSY);
    return null;
  }

  /**
   * Hands a frame to the part for summaries, which replays what was sent before and makes none. `null`: the frame has
   * nothing to do with them. One with new messages alone continues what the upstream has.
   */
  async #enterSeams(
    frame: Buffer,
    { rewritten: read, changed }: PrunedRequest,
    { requestId, scope, keyId, caller, client, isSubscription }: RequestContext,
    startedAt: number,
  ): Promise<SeamExchange | null> {
    const { seams, dialect, storeWait, onFailure } = this.#options;
    if (read === null || seams?.concerns(scope.project, dialect.name, false) !== true) return null;
    try {
      const whole = wholeOf(frame, read, changed, this.#beginning, dialect);
      if (whole === null) return null;
      const { body, rewritten } = whole;
      const own = { project: scope.project, scope, isOwned: false, keyId, caller };
      const from = { ...own, client: scope.agent ?? client, isSubscription };
      return await seams.enter({
        ...{ requestId, ...from, isQuiet: true, isSocket: true, rawHeaders: [], dialect, purpose: 'generate' },
        ...{ rewritten, body, beganMs: seams.nowMs(), origin: this.#connected.origin, path: '' },
        wait: async (cause) => storeWait?.wait(cause, body.length, startedAt) ?? false,
        send: () => Promise.reject(new Error('no compaction is made over a WebSocket')),
      });
    } catch (cause) {
      onFailure(reasonOf(cause), cause, { requestId });
      return null;
    }
  }

  /** Resends a request whose summary the upstream refused, unless the client went on meanwhile. */
  async #sendWithoutSummary(exchange: FrameExchange, seam: SeamExchange, refusal: Buffer): Promise<void> {
    const frame = await exchange.summaryRefused(seam);
    if (this.#current === exchange) this.#connected.send(frame);
    else this.#connected.reply(refusal);
  }

  /** @returns whether to forward the event to the client */
  #event(exchange: FrameExchange, frame: Buffer): boolean {
    if (typeOfFrame(frame) === LIMITS) {
      if (exchange.limitEvents.length < MAX_LIMIT_EVENTS) exchange.limitEvents.push(frame);
      return true; // the event may precede the answer, so the request can still be refused
    }
    const isFirst = !exchange.started;
    exchange.event(frame);
    const error = isFirst || exchange.isOver ? exchange.answer().error : null;
    if (isFirst && error === null) this.#accepted(exchange);
    if (!exchange.isOver) return true;
    const { status, code } = outcomeOf(frame);
    const isRefused = error === 'refused' && !this.#overlapping && !OF_CONNECTION.has(code);
    const { seam } = exchange;
    if (isFirst && isRefused && seam !== null && exchange.mayRefuseSummary) {
      void this.#sendWithoutSummary(exchange, seam, frame);
      return false;
    }
    const original = isFirst && isRefused ? exchange.refused(status) : null;
    if (original === null) this.#answered(status);
    else this.#connected.send(original);
    return original === null;
  }

  /** Called when the upstream answers. If it accepted only the unpruned form, the conversation is no longer pruned. */
  #accepted({ requestId, pruned, wasRefused, seam }: FrameExchange): void {
    seam?.head(200, []);
    if (!wasRefused || pruned.rewritten === null) return;
    const { refused, onFailure } = this.#options;
    void refused
      .add(pruned.rewritten.refusalKeys)
      .catch((cause: unknown) => onFailure(reasonOf(cause), cause, { requestId }));
  }

  #answered(status: number, error: string | null = null): void {
    this.#end({ kind: 'answered', status, error });
  }

  #end(end: Exchange): void {
    const exchange = this.#current;
    if (exchange === null) return;
    this.#current = null;
    const { onReport, onFailure, rewriter, seams } = this.#options;
    try {
      const answer = exchange.answer();
      const { rewritten } = exchange.pruned;
      const { project } = this.#connected.context.scope;
      if (rewritten !== null && answer.turn.id !== '') void rewriter.answered(project, rewritten, answer.turn);
      if (rewritten !== null && end.kind === 'answered' && end.status < 300 && !hasFailed(answer)) {
        rewriter.completed(project, rewritten);
        if (exchange.seam) exchange.seam.ended(answer.usage);
        else seams?.answered(project, rewritten.shownId, answer.usage);
        const { id, items } = answer.turn;
        this.#beginning = exchange.beginning && items.length === 0 ? { id, ...exchange.beginning } : null;
        if (!exchange.wasRefused) void rewriter.accepted(rewritten);
      }
      const report = exchange.report(end);
      onReport(() => report, report.bytesIn);
    } catch (cause) {
      onFailure('not_reported', cause, { requestId: exchange.requestId });
    }
  }
}

/**
 * Status and code of an answer's last event: `{"type": "error", "status": 400, "error": {"code": …}}`, with
 * `status_code` as an alternative name; 200 for other events.
 */
function outcomeOf(frame: Buffer): { readonly status: number; readonly code: string } {
  const event = parsed(frame.toString('utf8'));
  const status = field(event, 'status') ?? field(event, 'status_code');
  const error = field(event, 'error') ?? field(field(event, 'response'), 'error');
  const code = String(field(error, 'code') ?? '');
  if (field(event, 'type') !== 'error') return { status: 200, code };
  return { status: typeof status === 'number' ? status : 500, code };
}
