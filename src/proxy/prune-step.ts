import type { FailureReporter } from '../base/failures.ts';
import { started, type Work, waitFor } from '../base/work.ts';
import { longestMs, type Patience, patienceOf, TIMED_OUT, within } from '../core/decide/time-limits.ts';
import type { RequestPipeline } from '../core/request/pipeline.ts';
import { type Policies, type PolicyInputs, policiesFor } from '../core/request/policy.ts';
import type { IncomingRequest } from '../core/request/request.ts';
import type { RewrittenRequest } from '../core/request/rewritten.ts';
import type { ObservedRequest, SeenReader } from '../core/seen/reader.ts';
import { HistoryUnknown } from '../core/sent/history-unknown.ts';
import { type FallbackCode, reasonOf } from '../errors/errors.ts';
import { JsonShapeError } from '../wires/json/cursor.ts';
import { type ByteBudget, readLimit } from './byte-budget.ts';
import { type HistoryRefusals, isMomentary } from './history-refusals.ts';
import type { RequestContext } from './request-context.ts';
import type { StoreWait } from './store-wait.ts';

/** How requests of a project are treated. */
interface ProjectMode {
  readonly enabled: boolean;
  /** Forward everything unchanged and only report. Recorded cuts are still replayed if the history is bound. */
  readonly shadow: boolean;
}

export interface PruneStepOptions {
  readonly rewriter: Pick<RequestPipeline, 'rewrite' | 'rewriteDry' | 'rewriteFromMemory'>;
  /** Mode of a project: pruned or not, and whether savings are only reported. */
  readonly modeOf: (project: string) => ProjectMode;
  /** New texts of larger bodies are not decided. */
  readonly maxBodyBytes: number;
  /** Budget of concurrent rewrites. If it is not granted in time, only recorded cuts are replayed. */
  readonly budget: Pick<ByteBudget, 'take'>;
  /** Budget of replays that were not granted `budget`: they also use the heap. */
  readonly lateBudget: Pick<ByteBudget, 'take'>;
  /** `MCP_PRUNER_TIMEOUT_MS`. */
  readonly timeoutMs: number;
  /** Lets requests wait while the store with their history is unavailable. If absent, they do not wait. */
  readonly storeWait?: Pick<StoreWait, 'wait' | 'waitsFor'>;
  /** Conversations whose client is asked to retry. If absent, they are forwarded whole. */
  readonly refusals?: Pick<HistoryRefusals, 'endMs' | 'refuses'>;
  /** Passes new messages to the observers. Absent if there are none. */
  readonly seen?: Pick<SeenReader, 'add' | 'room'>;
  /** Whether data belongs to projects. */
  readonly hasProjects?: boolean;
  /** Called for faults that the client does not see. */
  readonly onFailure: FailureReporter;
}

/** A request after the prune step. */
export interface PrunedRequest {
  /** `null`: pruning was off, the request could not be parsed, or pruning failed. */
  readonly rewritten: RewrittenRequest | null;
  /** The body to forward as plain JSON; `null` to forward the request unchanged. */
  readonly changed: Buffer | null;
  /** Set in shadow mode with a bound history: a dry run that prunes the whole conversation from scratch. */
  readonly dryRun?: RewrittenRequest | null;
  /** The client is to be asked to send the request again: it is not known for the moment how its history was sent. */
  readonly retry?: boolean;
  /** Short constant codes of failures and skipped steps. */
  readonly fallbacks: readonly string[];
}

/** Maximum wait for a bound history before its client is asked to retry, in milliseconds. */
const HISTORY_WAIT_MS = 10_000;
/** Additional intervals of waiting: for the history, and until everything is stored. */
const OTHER_INTERVALS = 2;

/**
 * Prunes requests in bodies and frames. If the history is bound, recorded cuts are replayed even if pruning is off, the
 * body is too large, the budget is exhausted, time runs out, or something fails.
 */
export class PruneStep {
  readonly #options: PruneStepOptions;

  constructor(options: PruneStepOptions) {
    this.#options = options;
  }

  /** Never rejects: after any fault the request is still forwarded. */
  prune(context: RequestContext, incoming: IncomingRequest): Promise<PrunedRequest> {
    return started(this.pruned(context, incoming));
  }

  /** See `prune`. */
  *pruned(context: RequestContext, incoming: IncomingRequest): Work<PrunedRequest> {
    yield* waitFor(this.#options.seen?.room(incoming.body.length));
    const pruned = yield* this.#pruneIfAsked(context, incoming);
    if (!pruned.rewritten) this.#observeUnread(context, incoming);
    return pruned;
  }

  /** Results are stored even if pruning is off for the request, but not if it is disabled for the project. */
  #observeUnread(context: RequestContext, incoming: IncomingRequest): void {
    const { maxBodyBytes, modeOf } = this.#options;
    const { purpose = 'generate', body } = incoming;
    const isEnabled = modeOf(context.scope.project).enabled;
    if (purpose !== 'generate' || !isEnabled || !this.#isOff(context) || body.length > maxBodyBytes) return;
    this.#observe(context, incoming, { read: null, segments: null });
  }

  #observe(
    { scope, sessions }: RequestContext,
    { body, dialect, purpose: asked = 'generate' }: IncomingRequest,
    { read, segments }: Pick<ObservedRequest, 'read' | 'segments'>,
  ): void {
    const { seen, hasProjects: isOwned = false, modeOf } = this.#options;
    const purpose = modeOf(scope.project).enabled ? asked : null;
    const keepsResults = purpose === 'generate';
    seen?.add({ body, dialect, scope, purpose, sessions, keepsResults, isOwned, read, segments });
  }

  *#pruneIfAsked(context: RequestContext, incoming: IncomingRequest): Work<PrunedRequest> {
    const { storeWait } = this.#options;
    if (this.#isOff(context) && !mayBeBound(incoming)) return unchanged();
    if (incoming.body.length > this.#readLimit(incoming)) return unchanged('body_too_large' satisfies FallbackCode);
    // a request whose history was refused has already waited
    if (storeWait === undefined || incoming.historyRefused === true)
      return yield* this.#prune(context, incoming, 'none');
    return yield* this.#pruneOnceKnown(context, incoming, storeWait);
  }

  *#pruneOnceKnown(
    context: RequestContext,
    incoming: IncomingRequest,
    storeWait: Pick<StoreWait, 'wait' | 'waitsFor'>,
  ): Work<PrunedRequest> {
    const { refusals } = this.#options;
    const sinceMs = performance.now();
    let isBound = false;
    for (let waits = true; waits; ) {
      try {
        return yield* this.#prune(context, incoming, storeWait.waitsFor);
      } catch (cause) {
        if (!(cause instanceof HistoryUnknown)) throw cause;
        const { boundConversation } = cause;
        isBound = boundConversation !== null;
        const mayRefuse = isMomentary(cause) && incoming.purpose !== 'count';
        const refused = mayRefuse && boundConversation !== null && refusals ? boundConversation : null;
        const endMs =
          refused === null
            ? Number.POSITIVE_INFINITY
            : Math.min(sinceMs + HISTORY_WAIT_MS, refusals?.endMs(refused, sinceMs) ?? 0);
        waits =
          performance.now() < endMs && (yield* waitFor(storeWait.wait(cause.cause, incoming.body.length, sinceMs)));
        if (!waits && refused !== null && refusals?.refuses(refused, sinceMs) === true)
          return { ...unchanged('asked_to_retry' satisfies FallbackCode), retry: true };
      }
    }
    const { fallbacks, ...pruned } = yield* this.#prune(context, incoming, 'none');
    return { ...pruned, fallbacks: isBound ? [...fallbacks, 'history_raw' satisfies FallbackCode] : fallbacks };
  }

  /** @throws HistoryUnknown if the request may wait for the store */
  *#prune(context: RequestContext, incoming: IncomingRequest, waitsFor: PolicyInputs['waitsFor']): Work<PrunedRequest> {
    const { maxBodyBytes, budget, lateBudget } = this.#options;
    const { body, purpose = 'generate', historyRefused = false } = incoming;
    const patience = this.#patienceOf(incoming);
    const granted = yield* waitFor(budget.take(body.length, longestMs(patience), context.keyId));
    const release = granted ?? (yield* waitFor(lateBudget.take(body.length, patience.intervalMs, context.keyId)));
    const fallbacks: string[] = granted ? [] : ['overloaded' satisfies FallbackCode];
    // a bound history must not be forwarded unpruned, so it is replayed without a budget
    if (release === null && !mayBeBound(incoming)) return unchanged(...fallbacks);
    try {
      const isTooLarge = body.length > maxBodyBytes;
      if (isTooLarge) fallbacks.push('body_too_large' satisfies FallbackCode);
      const hasBudget = granted !== null && !isTooLarge;
      const isShadow = this.#options.modeOf(context.scope.project).shadow;
      const inputs = { purpose, hasBudget, historyRefused, waitsFor, isOff: this.#isOff(context), isShadow };
      return yield* this.#pruned(context, this.#withSender(context, incoming), inputs, fallbacks);
    } finally {
      release?.();
    }
  }

  /** Converts a request to the pipeline's input, with its sender. */
  #withSender(context: RequestContext, { body, dialect, model, purpose }: IncomingRequest): IncomingRequest {
    const { scope, sessions } = context;
    const request: IncomingRequest = {
      onRead: (read) => this.#observe(context, request, read),
      ...{ body, dialect, model, scope, purpose, sessions, sender: context },
    };
    return request;
  }

  /** @param fallbacks - receives further codes */
  *#pruned(
    { requestId }: RequestContext,
    request: IncomingRequest,
    inputs: PolicyInputs,
    fallbacks: string[],
  ): Work<PrunedRequest> {
    const rewritten = yield* this.#rewrite(requestId, request, policiesFor(inputs), fallbacks);
    if (rewritten?.refusedBefore) fallbacks.push('left_alone' satisfies FallbackCode);
    fallbacks.push(...(rewritten?.fallbacks ?? []));
    const { isShadow, isOff, hasBudget, purpose } = inputs;
    const isBound = rewritten?.binding !== 'free';
    const isSent = rewritten !== null && rewritten.body !== request.body && (!isShadow || isBound);
    const needsDryRun = isShadow && mayBeBound(request) && hasBudget && purpose === 'generate' && !isOff;
    const dryRun =
      needsDryRun && rewritten !== null && !isSent
        ? yield* waitFor(this.#dryRun(requestId, { ...request, onRead: undefined }))
        : null;
    return { rewritten, changed: isSent ? rewritten.body : null, dryRun, fallbacks };
  }

  #patienceOf(request: IncomingRequest): Patience {
    return patienceOf(this.#options.timeoutMs, mayBeBound(request));
  }

  #readLimit({ dialect }: IncomingRequest): number {
    return readLimit({ dialect, maxBodyBytes: this.#options.maxBodyBytes });
  }

  /**
   * Runs the pipeline within the time limit. After that, or after a fault, the cuts that this process remembers are
   * replayed.
   *
   * @throws HistoryUnknown if the policy is to wait for the store
   */
  *#rewrite(
    requestId: string,
    request: IncomingRequest,
    policies: Policies,
    fallbacks: string[],
  ): Work<RewrittenRequest | null> {
    const { rewriter, onFailure } = this.#options;
    const time = new AbortController();
    try {
      const isDry = !mayBeBound(request) && policies.free.unchanged === 'dry-run';
      const timed = { signal: time.signal, ...request };
      const work = isDry ? rewriter.rewriteDry(timed) : rewriter.rewrite(timed, policies);
      if (!(work instanceof Promise)) return work;
      // a backstop: finding, deciding and storing each have their own time limit
      const { intervalMs, intervals } = this.#patienceOf(request);
      const inTime = within(work, { intervalMs, intervals: intervals + OTHER_INTERVALS }, (cause) => {
        // a time-out of late work is not a failure
        if (cause !== TIMED_OUT) onFailure('rewritten_too_late', cause, { requestId });
      });
      const rewritten = yield* waitFor(inTime);
      if (rewritten) return rewritten;
      fallbacks.push('timeout' satisfies FallbackCode);
    } catch (cause) {
      if (cause instanceof HistoryUnknown) throw cause;
      const reason = cause instanceof JsonShapeError ? cause.code : reasonOf(cause);
      fallbacks.push(reason);
      onFailure(reason, cause, { requestId });
      if (cause instanceof JsonShapeError) return null;
    }
    time.abort(TIMED_OUT);
    try {
      return yield* waitFor(rewriter.rewriteFromMemory(request, policies));
    } catch (cause) {
      if (cause instanceof HistoryUnknown) throw cause;
      onFailure('not_repeated', cause, { requestId });
      return null;
    }
  }

  /** Dry run for a request that is forwarded unchanged; `null` if it takes too long or fails. */
  async #dryRun(requestId: string, request: IncomingRequest): Promise<RewrittenRequest | null> {
    const { rewriter, timeoutMs, onFailure } = this.#options;
    const failed = (cause: unknown): null => {
      onFailure('not_looked_at', cause, { requestId });
      return null;
    };
    return within(rewriter.rewriteDry(request), { intervalMs: timeoutMs, intervals: 1 }, failed).catch(failed);
  }

  #isOff({ isOff, scope }: RequestContext): boolean {
    return !this.#options.modeOf(scope.project).enabled || isOff;
  }
}

/** Whether a provider may verify the history of a request. */
function mayBeBound({ dialect }: IncomingRequest): boolean {
  return dialect.verifiesHistory !== 'never';
}

function unchanged(...fallbacks: string[]): PrunedRequest {
  return { rewritten: null, changed: null, fallbacks };
}
