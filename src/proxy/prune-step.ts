import type { FailureReporter } from '../base/failures.ts';
import { longestMs, type Patience, patienceOf, TIMED_OUT, within } from '../core/decide/time-limits.ts';
import { reasonOf } from '../core/failure-reason.ts';
import type { RequestPipeline } from '../core/request/pipeline.ts';
import { type Policies, policiesFor, type Situation } from '../core/request/policy.ts';
import type { IncomingRequest } from '../core/request/request.ts';
import type { Rewritten } from '../core/request/rewritten.ts';
import type { ObservedRequest, SeenReader } from '../core/seen/reader.ts';
import { HistoryUnknown } from '../core/sent/history-unknown.ts';
import type { FallbackCode } from '../errors/errors.ts';
import type { Dialect, Purpose } from '../wires/dialects/dialect.ts';
import { JsonShapeError } from '../wires/json/cursor.ts';
import { type ByteBudget, readLimit } from './byte-budget.ts';
import { decodeBody } from './decode-body.ts';
import type { RequestContext } from './request-context.ts';
import type { StoreWait } from './store-wait.ts';

/** How requests of a project are treated. */
export interface ProjectMode {
  readonly enabled: boolean;
  /**
   * Forward everything unchanged and only report; recorded cuts are still replayed where the history is bound.
   */
  readonly shadow: boolean;
}

export interface PruneStepOptions {
  /** The wire of the requests. */
  readonly dialect: Dialect;
  readonly rewriter: Pick<RequestPipeline, 'rewrite' | 'rewriteDry' | 'rewriteFromMemory'>;
  /** Whether requests of a project are pruned, and whether that is only reported. */
  readonly modeOf: (project: string) => ProjectMode;
  /** New texts of larger bodies are not decided. */
  readonly maxBodyBytes: number;
  /** Budget of rewrites in progress; if the budget is not granted in time, only recorded cuts are replayed. */
  readonly budget: Pick<ByteBudget, 'take'>;
  /** Budget of replays for requests that `budget` was not granted to: they also use the heap. */
  readonly lateBudget: Pick<ByteBudget, 'take'>;
  /** `MCP_PRUNER_TIMEOUT_MS`. */
  readonly timeoutMs: number;
  /** Lets requests wait while the store, which alone has their history, is unavailable. If absent, they do not wait. */
  readonly storeWait?: Pick<StoreWait, 'wait'>;
  /** Hands what is new in requests to the observers; absent: there are none. */
  readonly seen?: Pick<SeenReader, 'add' | 'room'>;
  /** Whether data belongs to projects. */
  readonly hasProjects?: boolean;
  /** Reports a fault that the client does not see. */
  readonly onFailure: FailureReporter;
}

/** A received request, in a body or in a frame. */
export interface IncomingBody {
  readonly context: RequestContext;
  readonly body: Buffer;
  /** As in `content-encoding`; `''` for plain JSON. */
  readonly encoding: string;
  readonly purpose: Purpose;
  /** As in `IncomingRequest`. */
  readonly model?: string | undefined;
  /** The provider rejected the unpruned history. */
  readonly historyRefused?: boolean;
}

/** The result of the prune step. */
export interface Pruned {
  /** `null`: pruning was off, the request could not be parsed, or pruning failed. */
  readonly rewritten: Rewritten | null;
  /** The body to forward, plain JSON; `null`: forward the request unchanged. */
  readonly changed: Buffer | null;
  /**
   * Shadow mode and a bound history: the result of a dry run that prunes the whole conversation from scratch.
   */
  readonly dryRun?: Rewritten | null;
  /** Short constant codes of failures and omissions. */
  readonly fallbacks: readonly string[];
}

/** Intervals by which a request waits longer in all than for its decisions: for its history, and until all is stored. */
const OTHER_INTERVALS = 2;

/**
 * Prunes requests in bodies and frames. Where the history is bound, recorded cuts are replayed even when pruning is
 * off, the body is too large, the budget is exhausted, the time is over, or something fails.
 */
export class PruneStep {
  readonly #options: PruneStepOptions;
  readonly #mayBeBound: boolean;

  constructor(options: PruneStepOptions) {
    this.#options = options;
    this.#mayBeBound = options.dialect.verifiesHistory !== 'never';
  }

  /** Never rejects: after any fault the request is still forwarded. */
  async prune(incoming: IncomingBody): Promise<Pruned> {
    const { onFailure, seen } = this.#options;
    await seen?.room(incoming.body.length);
    const pruned = await this.#pruneIfAsked(incoming);
    if (!pruned.rewritten)
      void this.#observeUnread(incoming).catch((cause: unknown) => onFailure('results_not_kept', cause));
    return pruned;
  }

  /** Results are stored even if pruning is off for the request, but not if it is disabled for the project. */
  async #observeUnread({ context, purpose, body, encoding }: IncomingBody): Promise<void> {
    const { seen, maxBodyBytes } = this.#options;
    const isEnabled = this.#options.modeOf(context.scope.project).enabled;
    if (!seen || purpose !== 'generate' || !isEnabled || !this.#isOff(context) || body.length > maxBodyBytes) return;
    const plain = encoding === '' ? body : await decodeBody(body, encoding, maxBodyBytes);
    if (plain !== null) this.#observe(context, purpose, { body: plain, read: null, segments: null });
  }

  #observe(
    { scope, sessions }: RequestContext,
    asked: Purpose,
    { body, read, segments }: Pick<ObservedRequest, 'body' | 'read' | 'segments'>,
  ): void {
    const { seen, dialect, hasProjects: isOwned = false, modeOf } = this.#options;
    const purpose = modeOf(scope.project).enabled ? asked : null;
    const keepsResults = purpose === 'generate';
    seen?.add({ body, dialect, scope, purpose, sessions, keepsResults, isOwned, read, segments });
  }

  #pruneIfAsked(incoming: IncomingBody): Promise<Pruned> {
    const { storeWait } = this.#options;
    if (this.#isOff(incoming.context) && !this.#mayBeBound) return Promise.resolve(unchanged());
    if (incoming.body.length > readLimit(this.#options))
      return Promise.resolve(unchanged('body_too_large' satisfies FallbackCode));
    // a request whose history was refused has already waited
    if (storeWait === undefined || incoming.historyRefused === true) return this.#prune(incoming, false);
    return this.#pruneOnceKnown(incoming, storeWait);
  }

  async #pruneOnceKnown(incoming: IncomingBody, storeWait: Pick<StoreWait, 'wait'>): Promise<Pruned> {
    const sinceMs = performance.now();
    for (let waits = true; waits; ) {
      try {
        return await this.#prune(incoming, true);
      } catch (cause) {
        if (!(cause instanceof HistoryUnknown)) throw cause;
        waits = await storeWait.wait(cause.cause, incoming.body.length, sinceMs);
      }
    }
    return this.#prune(incoming, false);
  }

  /** @throws HistoryUnknown if the request may wait for the store */
  async #prune(incoming: IncomingBody, mayWait: boolean): Promise<Pruned> {
    const { maxBodyBytes, budget, lateBudget } = this.#options;
    const granted = await budget.take(incoming.body.length, longestMs(this.#patience), incoming.context.keyId);
    const release =
      granted ?? (await lateBudget.take(incoming.body.length, this.#patience.intervalMs, incoming.context.keyId));
    const fallbacks: string[] = granted ? [] : ['overloaded' satisfies FallbackCode];
    // a bound history must not be forwarded unpruned: it is replayed without a budget
    if (release === null && !this.#mayBeBound) return unchanged(...fallbacks);
    try {
      const body =
        incoming.encoding === ''
          ? incoming.body
          : await decodeBody(incoming.body, incoming.encoding, readLimit(this.#options));
      if (body === null) return unchanged(...fallbacks, 'encoding_not_understood' satisfies FallbackCode);
      const { purpose, historyRefused = false } = incoming;
      const isTooLarge = body.length > maxBodyBytes;
      if (isTooLarge) fallbacks.push('body_too_large' satisfies FallbackCode);
      const hasBudget = granted !== null && !isTooLarge;
      const situation = { purpose, hasBudget, historyRefused, mayWait, ...this.#modeOf(incoming) };
      return await this.#pruned(incoming, body, { policies: policiesFor(situation), situation, fallbacks });
    } finally {
      release?.();
    }
  }

  async #pruned(
    { context, model }: IncomingBody,
    body: Buffer,
    { policies, situation, fallbacks }: Plan,
  ): Promise<Pruned> {
    const time = new AbortController();
    const { dialect } = this.#options;
    const { requestId, scope, sessions } = context;
    const { purpose: asked } = situation;
    const request: IncomingRequest = {
      onRead: ({ read, segments }) => this.#observe(context, situation.purpose, { body, read, segments }),
      ...{ body, dialect, model, scope, purpose: asked, sessions, sender: context, signal: time.signal },
    };
    const rewritten = await this.#rewrite(requestId, request, policies, time, fallbacks);
    if (rewritten?.refusedBefore) fallbacks.push('left_alone' satisfies FallbackCode);
    fallbacks.push(...(rewritten?.fallbacks ?? []));
    const { isShadow, isOff, hasBudget, purpose } = situation;
    const isBound = rewritten?.binding !== 'free';
    const isSent = rewritten !== null && rewritten.body !== body && (!isShadow || isBound);
    const needsDryRun = isShadow && this.#mayBeBound && hasBudget && purpose === 'generate' && !isOff;
    const dryRun =
      needsDryRun && rewritten !== null && !isSent
        ? await this.#dryRun(requestId, { ...request, onRead: undefined })
        : null;
    return { rewritten, changed: isSent ? rewritten.body : null, dryRun, fallbacks };
  }

  get #patience(): Patience {
    return patienceOf(this.#options.timeoutMs, this.#mayBeBound);
  }

  /**
   * Runs the pipeline within the time limit. After that, or after a fault, the cuts that this process remembers are
   * replayed.
   *
   * @throws HistoryUnknown if the policy is to wait for the store
   */
  async #rewrite(
    requestId: string,
    request: IncomingRequest,
    policies: Policies,
    time: AbortController,
    fallbacks: string[],
  ): Promise<Rewritten | null> {
    const { rewriter, onFailure } = this.#options;
    try {
      const isDry = !this.#mayBeBound && policies.free.unchanged === 'dry-run';
      const work = isDry ? rewriter.rewriteDry(request) : rewriter.rewrite(request, policies);
      // a backstop: finding, deciding and storing each have their own time limit
      const { intervalMs, intervals } = this.#patience;
      const rewritten = await within(work, { intervalMs, intervals: intervals + OTHER_INTERVALS }, (cause) => {
        // stopping late work is not a failure
        if (cause !== TIMED_OUT) onFailure('rewritten_too_late', cause, { requestId });
      });
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
      return await rewriter.rewriteFromMemory({ ...request, signal: undefined }, policies);
    } catch (cause) {
      if (cause instanceof HistoryUnknown) throw cause;
      onFailure('not_repeated', cause, { requestId });
      return null;
    }
  }

  /** The result of a dry run for a request that is forwarded unchanged; `null` if that takes too long or fails. */
  async #dryRun(requestId: string, request: IncomingRequest): Promise<Rewritten | null> {
    const { rewriter, timeoutMs, onFailure } = this.#options;
    const failed = (cause: unknown): null => {
      onFailure('not_looked_at', cause, { requestId });
      return null;
    };
    return within(rewriter.rewriteDry(request), { intervalMs: timeoutMs, intervals: 1 }, failed).catch(failed);
  }

  #modeOf({ context }: IncomingBody): Pick<Situation, 'isOff' | 'isShadow'> {
    return { isOff: this.#isOff(context), isShadow: this.#options.modeOf(context.scope.project).shadow };
  }

  #isOff({ isOff, scope }: RequestContext): boolean {
    return !this.#options.modeOf(scope.project).enabled || isOff;
  }
}

/** How a request is pruned. */
interface Plan {
  readonly policies: Policies;
  readonly situation: Situation;
  /** Fallback codes so far; more are added. */
  readonly fallbacks: string[];
}

function unchanged(...fallbacks: string[]): Pruned {
  return { rewritten: null, changed: null, fallbacks };
}
