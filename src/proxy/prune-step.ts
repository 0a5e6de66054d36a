import type { IncomingHttpHeaders } from 'node:http';
import { reasonOf } from '../core/failure-reason.ts';
import type { IncomingRequest } from '../core/request/read-request.ts';
import type { RequestRewriter } from '../core/request/rewrite-request.ts';
import type { Rewritten } from '../core/request/rewritten.ts';
import { PastUnknown } from '../core/sent/past-unknown.ts';
import { TIMED_OUT, within } from '../core/within.ts';
import type { Dialect, Purpose } from '../dialects/dialect.ts';
import type { FailureReporter } from '../failures.ts';
import { JsonShapeError } from '../json/cursor.ts';
import type { ByteBudget } from './byte-budget.ts';
import { decodeBody } from './decode-body.ts';
import { scopeOf } from './scope.ts';
import type { StoreWait } from './store-wait.ts';

export interface PruneStepOptions {
  /** The wire that the requests speak. */
  readonly dialect: Dialect;
  readonly rewriter: Pick<RequestRewriter, 'rewrite' | 'rewriteDry' | 'rewriteFromMemory'>;
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
  /** Told of a fault that the client does not see. */
  readonly onFailure: FailureReporter;
}

/** A request as it came, in a body or in a frame. */
export interface CameIn {
  readonly requestId: string;
  readonly body: Buffer;
  /** Of the request itself, or of the one that opened its connection. */
  readonly headers: IncomingHttpHeaders;
  /** As in `content-encoding`; `''` for plain JSON. */
  readonly encoding: string;
  readonly purpose: Purpose;
  /** As in `IncomingRequest`. */
  readonly past?: IncomingRequest['past'];
}

/** What became of a request. */
export interface Pruned {
  /** `null`: it was not to be looked at, could not be, or something failed. */
  readonly rewritten: Rewritten | null;
  /** What is to go on: plain JSON; `null`: the request just as it came. */
  readonly changed: Buffer | null;
  /** In shadow mode, where what was sent is repeated: what would have been cut, had it been from the beginning. */
  readonly looked?: Rewritten | null;
  /** Short constant codes of what was done without. */
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
  prune(came: CameIn): Promise<Pruned> {
    const { maxBodyBytes, storeWait } = this.#options;
    if (this.#isOff(came.headers) && !this.#isChecked) return Promise.resolve(asItCame());
    if (came.body.length > maxBodyBytes) return Promise.resolve(asItCame('body_too_large'));
    // one that was refused for its past has waited
    if (storeWait === undefined || came.past === 'decide') return this.#prune(came, 'leave');
    return this.#pruneOnceKnown(came, storeWait);
  }

  async #pruneOnceKnown(came: CameIn, storeWait: Pick<StoreWait, 'wait'>): Promise<Pruned> {
    const sinceMs = performance.now();
    for (let waits = true; waits; ) {
      try {
        return await this.#prune(came, 'refuse');
      } catch (cause) {
        if (!(cause instanceof PastUnknown)) throw cause;
        waits = await storeWait.wait(cause.cause, came.body.length, sinceMs);
      }
    }
    return this.#prune(came, 'leave');
  }

  /** @throws PastUnknown where that is asked for */
  async #prune(came: CameIn, unknownPast: IncomingRequest['unknownPast']): Promise<Pruned> {
    const { maxBodyBytes, shadow, budget, lateBudget, timeoutMs } = this.#options;
    const inRoom = await budget.take(came.body.length, timeoutMs);
    const hasRoom = inRoom !== null;
    const release = inRoom ?? (await lateBudget.take(came.body.length, this.#patienceMs));
    const fallbacks = hasRoom ? [] : ['overloaded'];
    if (release === null && !this.#isChecked) return asItCame(...fallbacks);
    try {
      const body = came.encoding === '' ? came.body : await decodeBody(came.body, came.encoding, maxBodyBytes);
      if (body === null) return asItCame(...fallbacks, 'encoding_not_understood');
      const time = { isOver: false };
      const request = this.#requestOf(came, body, hasRoom, { unknownPast, isOver: () => time.isOver });
      const rewritten = await this.#rewrite(came.requestId, request, time, fallbacks, hasRoom);
      if (rewritten?.refusedBefore) fallbacks.push('left_alone');
      fallbacks.push(...(rewritten?.fallbacks ?? []));
      const isSent = rewritten !== null && rewritten.body !== body && (!shadow || this.#isChecked);
      const looks = shadow && this.#isChecked && hasRoom && came.purpose === 'generate' && !this.#isOff(came.headers);
      const looked = looks && rewritten !== null && !isSent ? await this.#look(came.requestId, request) : null;
      return { rewritten, changed: isSent ? rewritten.body : null, looked, fallbacks };
    } finally {
      release?.();
    }
  }

  /** Where the request as it came is no way out, that is worth waiting for. */
  get #patienceMs(): number {
    const { timeoutMs } = this.#options;
    return this.#isChecked ? Math.max(CHECKED_PATIENCE_MS, timeoutMs) : timeoutMs;
  }

  #requestOf(
    { headers, requestId, purpose, past = 'leave' }: CameIn,
    body: Buffer,
    hasRoom: boolean,
    { unknownPast, isOver }: Pick<IncomingRequest, 'unknownPast' | 'isOver'>,
  ): IncomingRequest {
    // without room only what was sent before is sent again: its texts are not looked into
    const decides = !this.#isOff(headers) && !this.#options.shadow && hasRoom;
    return {
      body,
      dialect: this.#options.dialect,
      scope: scopeOf(headers, requestId),
      newTexts: purpose !== 'generate' ? 'replay' : decides ? 'decide' : 'leave',
      past,
      unknownPast,
      isOver,
    };
  }

  /**
   * In time, or from memory: the last resort repeats what this process knows to have been sent.
   *
   * @throws PastUnknown where the request asks for that
   */
  async #rewrite(
    requestId: string,
    request: IncomingRequest,
    time: { isOver: boolean },
    fallbacks: string[],
    hasRoom: boolean,
  ): Promise<Rewritten | null> {
    const { rewriter, shadow, onFailure } = this.#options;
    try {
      const dry = shadow && !this.#isChecked && hasRoom;
      const work = dry ? rewriter.rewriteDry(request) : rewriter.rewrite(request);
      const rewritten = await within(work, 3 * this.#patienceMs, (cause) => {
        // that it was stopped is no failure
        if (cause !== TIMED_OUT) onFailure('rewritten_too_late', cause, { requestId });
      });
      if (rewritten) return rewritten;
      fallbacks.push('timeout');
    } catch (cause) {
      if (cause instanceof PastUnknown) throw cause;
      const reason = cause instanceof JsonShapeError ? cause.code : reasonOf(cause);
      fallbacks.push(reason);
      onFailure(reason, cause, { requestId });
      if (cause instanceof JsonShapeError) return null;
    }
    time.isOver = true;
    try {
      return await rewriter.rewriteFromMemory(request);
    } catch (cause) {
      if (cause instanceof PastUnknown) throw cause;
      onFailure('not_repeated', cause, { requestId });
      return null;
    }
  }

  /** What would be cut of a request that goes as it came; `null` where that takes too long or fails. */
  async #look(requestId: string, request: IncomingRequest): Promise<Rewritten | null> {
    const { rewriter, timeoutMs, onFailure } = this.#options;
    const failed = (cause: unknown): null => {
      onFailure('not_looked_at', cause, { requestId });
      return null;
    };
    return within(rewriter.rewriteDry({ ...request, newTexts: 'decide' }), timeoutMs, failed).catch(failed);
  }

  #isOff({ 'x-mcp-pruner': off }: IncomingHttpHeaders): boolean {
    return !this.#options.enabled || (typeof off === 'string' && off.trim().toLowerCase() === 'off');
  }
}

function asItCame(...fallbacks: string[]): Pruned {
  return { rewritten: null, changed: null, fallbacks };
}
