import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FailureReporter } from '../../base/failures.ts';
import type { Clock } from '../../core/ports.ts';
import type { Passed } from '../../core/request/passing.ts';
import type { RequestPipeline } from '../../core/request/pipeline.ts';
import type { ByteBudget } from '../byte-budget.ts';
import type { Admission, Heads } from './heads.ts';
import { collectKnown, LaneExchange } from './lane-exchange.ts';
import type { Ring } from './ring.ts';

export interface LaneOptions {
  readonly heads: Heads;
  readonly ring: Pick<Ring, 'add' | 'gone' | 'settle'>;
  readonly rewriter: Pick<RequestPipeline, 'pass'>;
  readonly clock: Clock;
  /** Budget of bodies in memory, from their first byte to the end of their answers. */
  readonly received: Pick<ByteBudget, 'tryTake'>;
  readonly maxBodyBytes: number;
  readonly newRequestId: () => string;
  /** Counts a request in flight of a run, and returns a function to call at its end. */
  readonly begin: (run: string) => () => void;
  readonly onFailure: FailureReporter;
}

/** A body that was collected, when its request arrived, and a function that releases its memory. */
interface Received {
  readonly body: Buffer;
  readonly startedAt: number;
  readonly release: () => void;
}

/**
 * The short way of a request in which nothing is to be decided, or for which pruning is off: no promise, no queue, no
 * look-up. It takes a request whose head was admitted before, reads its body, and asks the pipeline whether the body
 * passes. If not, it puts the body back, and the request goes the usual way.
 */
export class Lane {
  readonly #options: LaneOptions;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** @param otherwise - lets the request go the usual way */
  enter(req: IncomingMessage, res: ServerResponse, otherwise: () => void): void {
    if (!this.#take(req, res, otherwise)) this.#leave(req, otherwise);
  }

  /** Lets a request go the usual way once everything before it is remembered. */
  #leave({ method }: IncomingMessage, otherwise: () => void): void {
    const settling = method === 'POST' ? this.#options.ring.settle() : null;
    if (settling === null) otherwise();
    else void settling.then(otherwise);
  }

  /** @returns whether the lane has taken the request */
  #take(req: IncomingMessage, res: ServerResponse, otherwise: () => void): boolean {
    const { heads, received, maxBodyBytes } = this.#options;
    const size = Number(req.headers['content-length']);
    if (!(size > 0 && size <= maxBodyBytes)) return false;
    const admission = heads.find(req);
    if (admission === null) return false;
    const { keyId = '' } = admission.context;
    const release = received.tryTake(size, keyId);
    if (release === null) return false;
    const startedAt = performance.now();
    collectKnown(
      req,
      res,
      size,
      (body) => {
        if (this.#serve(req, res, admission, { body, startedAt, release })) {
          req.resume();
          return;
        }
        release();
        req.unshift(body);
        this.#leave(req, otherwise);
      },
      () => {
        release();
        this.#options.ring.gone(admission, this.#options.newRequestId(), startedAt);
      },
    );
    return true;
  }

  #serve(
    req: IncomingMessage,
    res: ServerResponse,
    admission: Admission,
    { body, startedAt, release }: Received,
  ): boolean {
    const { ring, clock, newRequestId, begin } = this.#options;
    const { context, to } = admission;
    const beganAt = performance.now();
    const requestId = newRequestId();
    const passed = admission.isOff ? null : this.#pass(admission, requestId, body);
    if (passed === null && !admission.isOff) return false;
    const pruneMs = performance.now() - beganAt;
    const exchange = new LaneExchange(req, admission, requestId, passed, { received: body, startedAt, pruneMs });
    const ended = begin(context.run);
    to.upstream.send(exchange, res, (end) => {
      exchange.over(end, clock.nowMs());
      release();
      ended();
      ring.add(exchange);
    });
    return true;
  }

  /** Never throws: after a fault, the request goes the usual way. */
  #pass({ context, to, options }: Admission, requestId: string, body: Buffer): Passed | null {
    const { rewriter, onFailure } = this.#options;
    // summaries are looked up on the usual way
    if (options.seams?.concerns(context.scope.project, false) === true) return null;
    try {
      const { project, task, client, agent, origin } = context.scope;
      const scope = { project, task, requestId, client, agent, origin };
      const { sessions } = context;
      return rewriter.pass(body, options.dialect, { scope, sessions, sender: context, model: to.operation.model });
    } catch (cause) {
      onFailure('not_passed', cause);
      return null;
    }
  }
}
