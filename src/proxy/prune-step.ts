import type { CompactionWatch } from '../core/compactions/watch.ts';
import { reasonOf } from '../core/failure-reason.ts';
import type { ResultKeeper } from '../core/recall/keeper.ts';
import type { RequestPipeline } from '../core/request/pipeline.ts';
import { type Policy, policyFor, type Situation } from '../core/request/policy.ts';
import type { IncomingRequest } from '../core/request/request.ts';
import type { Rewritten } from '../core/request/rewritten.ts';
import { HistoryUnknown } from '../core/sent/history-unknown.ts';
import { TIMED_OUT, within } from '../core/within.ts';
import type { Dialect, Purpose } from '../dialects/dialect.ts';
import type { FallbackCode } from '../errors.ts';
import type { FailureReporter } from '../failures.ts';
import { JsonShapeError } from '../json/cursor.ts';
import type { ByteBudget } from './byte-budget.ts';
import { decodeBody } from './decode-body.ts';
import type { RequestContext } from './request-context.ts';
import type { StoreWait } from './store-wait.ts';

export interface PruneStepOptions {
  /** The wire that the requests speak. */
  readonly dialect: Dialect;
  readonly rewriter: Pick<RequestPipeline, 'rewrite' | 'rewriteDry' | 'rewriteFromMemory'>;
  readonly enabled: boolean;
  /** Forward everything as it came and only report; what a provider checks is repeated all the same. */
  readonly shadow: boolean;
  readonly maxBodyBytes: number;
  /** What is rewritten at once; for a request that finds no room in time only what was sent is repeated. */
  readonly budget: Pick<ByteBudget, 'take'>;
  /** Where what was sent is looked up for those that found none: they would fill the heap just as well. */
  readonly lateBudget: Pick<ByteBudget, 'take'>;
  /** Longest time for finding, deciding and storing, in milliseconds. */
  readonly timeoutMs: number;
  /** Where requests wait whose past only the store knows; absent, none does. */
  readonly storeWait?: Pick<StoreWait, 'wait'>;
  /** Keeps the tool results that requests show; absent: nothing is kept. */
  readonly results?: Pick<ResultKeeper, 'see'>;
  /** Notices compactions of clients. */
  readonly compactions?: Pick<CompactionWatch, 'see'>;
  /** Whether things belong to projects. */
  readonly hasProjects?: boolean;
  /** Told of a fault that the client does not see. */
  readonly onFailure: FailureReporter;
}

/** A request as it came, in a body or in a frame. */
export interface CameIn {
  readonly context: RequestContext;
  readonly body: Buffer;
  /** As in `content-encoding`; `''` for plain JSON. */
  readonly encoding: string;
  readonly purpose: Purpose;
  /** The provider rejected the unpruned history. */
  readonly historyRefused?: boolean;
}

/** What became of a request. */
export interface Pruned {
  /** `null`: it was not to be looked at, could not be, or something failed. */
  readonly rewritten: Rewritten | null;
  /** The body to forward, plain JSON; `null`: the request as it came. */
  readonly changed: Buffer | null;
  /** Shadow mode on a history-bound wire: the result of a dry run that prunes the whole conversation from scratch. */
  readonly looked?: Rewritten | null;
  /** Short constant codes of what failed or was left out. */
  readonly fallbacks: readonly string[];
}

/** How long a request waits for its turn where the request as it came is no way out. */
const CHECKED_PATIENCE_MS = 30_000;

/**
 * Prunes requests, in bodies and in frames. Where the provider checks the past, what was sent is sent again even when
 * pruning is off, there is no room, the time is over, or something fails.
 */
export class PruneStep {
  readonly #options: PruneStepOptions;
  readonly #isChecked: boolean;

  constructor(options: PruneStepOptions) {
    this.#options = options;
    this.#isChecked = options.dialect.binding === 'must';
  }

  /** Never rejects: whatever goes wrong inside, the request goes on. */
  async prune(came: CameIn): Promise<Pruned> {
    const pruned = await this.#pruneIfAsked(came);
    const { onFailure } = this.#options;
    void this.#show(came, pruned.rewritten).catch((cause: unknown) => onFailure('results_not_kept', cause));
    return pruned;
  }

  /**
   * Hands a request on whose tool results may be kept: also one that goes as it came, in shadow mode or because it asks for
   * that itself. The kill switch keeps nothing.
   */
  async #show(came: CameIn, rewritten: Rewritten | null): Promise<void> {
    const { results, compactions, enabled, dialect, maxBodyBytes, hasProjects: isOwned = false } = this.#options;
    const { purpose } = came;
    const { scope, session } = came.context;
    if (rewritten && enabled) compactions?.see({ session, purpose, scope, read: rewritten });
    if (!results || !enabled || purpose !== 'generate') return;
    if (rewritten) results.see({ body: rewritten.received, dialect, scope, isOwned, read: rewritten });
    else if (this.#isOff(came.context) && came.body.length <= maxBodyBytes) {
      const body = came.encoding === '' ? came.body : await decodeBody(came.body, came.encoding, maxBodyBytes);
      if (body !== null) results.see({ body, dialect, scope, isOwned, read: null });
    }
  }

  #pruneIfAsked(came: CameIn): Promise<Pruned> {
    const { maxBodyBytes, storeWait } = this.#options;
    if (this.#isOff(came.context) && !this.#isChecked) return Promise.resolve(asItCame());
    if (came.body.length > maxBodyBytes) return Promise.resolve(asItCame('body_too_large' satisfies FallbackCode));
    // a request whose history was refused has waited already
    if (storeWait === undefined || came.historyRefused === true) return this.#prune(came, false);
    return this.#pruneOnceKnown(came, storeWait);
  }

  async #pruneOnceKnown(came: CameIn, storeWait: Pick<StoreWait, 'wait'>): Promise<Pruned> {
    const sinceMs = performance.now();
    for (let waits = true; waits; ) {
      try {
        return await this.#prune(came, true);
      } catch (cause) {
        if (!(cause instanceof HistoryUnknown)) throw cause;
        waits = await storeWait.wait(cause.cause, came.body.length, sinceMs);
      }
    }
    return this.#prune(came, false);
  }

  /** @throws HistoryUnknown where the request may wait for the store */
  async #prune(came: CameIn, mayWait: boolean): Promise<Pruned> {
    const { maxBodyBytes, dialect, budget, lateBudget, timeoutMs } = this.#options;
    const granted = await budget.take(came.body.length, timeoutMs);
    const release = granted ?? (await lateBudget.take(came.body.length, this.#patienceMs));
    const fallbacks: string[] = granted ? [] : ['overloaded' satisfies FallbackCode];
    if (release === null && !this.#isChecked) return asItCame(...fallbacks);
    try {
      const body = came.encoding === '' ? came.body : await decodeBody(came.body, came.encoding, maxBodyBytes);
      if (body === null) return asItCame(...fallbacks, 'encoding_not_understood' satisfies FallbackCode);
      const { purpose, historyRefused = false } = came;
      const situation = { ...this.#modeOf(came), purpose, hasBudget: granted !== null, historyRefused, mayWait };
      const policy = policyFor(dialect, situation);
      if (policy === null) return asItCame(...fallbacks);
      return await this.#pruned(came, body, { policy, situation, fallbacks });
    } finally {
      release?.();
    }
  }

  async #pruned({ context }: CameIn, body: Buffer, { policy, situation, fallbacks }: Plan): Promise<Pruned> {
    const time = new AbortController();
    const { dialect } = this.#options;
    const { requestId, scope } = context;
    const request = { body, dialect, scope, signal: time.signal };
    const rewritten = await this.#rewrite(requestId, request, policy, time, fallbacks);
    if (rewritten?.refusedBefore) fallbacks.push('left_alone' satisfies FallbackCode);
    fallbacks.push(...(rewritten?.fallbacks ?? []));
    const { isShadow, isOff, hasBudget, purpose } = situation;
    const isSent = rewritten !== null && rewritten.body !== body && (!isShadow || this.#isChecked);
    const looks = isShadow && this.#isChecked && hasBudget && purpose === 'generate' && !isOff;
    const looked = looks && rewritten !== null && !isSent ? await this.#look(requestId, request) : null;
    return { rewritten, changed: isSent ? rewritten.body : null, looked, fallbacks };
  }

  /** How long the late budget is waited for: longer where forwarding the request as it came may be refused. */
  get #patienceMs(): number {
    const { timeoutMs } = this.#options;
    return this.#isChecked ? Math.max(CHECKED_PATIENCE_MS, timeoutMs) : timeoutMs;
  }

  /**
   * Runs the pipeline within the time limit. After that, or after a fault, the cuts that this process remembers are replayed.
   *
   * @throws HistoryUnknown where the policy is to wait for the store
   */
  async #rewrite(
    requestId: string,
    request: IncomingRequest,
    policy: Policy,
    time: AbortController,
    fallbacks: string[],
  ): Promise<Rewritten | null> {
    const { rewriter, onFailure } = this.#options;
    try {
      const work = policy.dryRun ? rewriter.rewriteDry(request) : rewriter.rewrite(request, policy);
      const rewritten = await within(work, 3 * this.#patienceMs, (cause) => {
        // stopping late work is no failure
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
      return await rewriter.rewriteFromMemory({ ...request, signal: undefined }, policy);
    } catch (cause) {
      if (cause instanceof HistoryUnknown) throw cause;
      onFailure('not_repeated', cause, { requestId });
      return null;
    }
  }

  /** The result of a dry run, for a request that is forwarded as it came; `null` where that takes too long or fails. */
  async #look(requestId: string, request: IncomingRequest): Promise<Rewritten | null> {
    const { rewriter, timeoutMs, onFailure } = this.#options;
    const failed = (cause: unknown): null => {
      onFailure('not_looked_at', cause, { requestId });
      return null;
    };
    return within(rewriter.rewriteDry(request), timeoutMs, failed).catch(failed);
  }

  #modeOf({ context }: CameIn): Pick<Situation, 'isOff' | 'isShadow'> {
    return { isOff: this.#isOff(context), isShadow: this.#options.shadow };
  }

  #isOff({ isOff }: RequestContext): boolean {
    return !this.#options.enabled || isOff;
  }
}

/** How a request is pruned. */
interface Plan {
  readonly policy: Policy;
  readonly situation: Situation;
  /** Codes so far; more are added. */
  readonly fallbacks: string[];
}

function asItCame(...fallbacks: string[]): Pruned {
  return { rewritten: null, changed: null, fallbacks };
}
