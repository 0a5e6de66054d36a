import { setImmediate as nextTurn } from 'node:timers/promises';
import { run, type Work as Waits, waitFor } from '../../base/work.ts';
import { StoreUnavailable } from '../../errors/errors.ts';
import type { Step, Steps } from './steps.ts';

/**
 * Kinds of background writes, in the order in which a transaction writes them. The order is the same in all processes,
 * because rows stay locked until the commit; rows with the most contention come last.
 */
const ORDER = ['sent', 'segments', 'recall', 'compactions', 'lines', 'limits', 'ledger', 'events'] as const;
export type Background = (typeof ORDER)[number];

/** A transaction takes no further work after this many rows and steps: some milliseconds of the event loop. */
const MOST_ROWS = 300;
/** Errors that one work may have caused, so that each is retried alone. Other failures affect all of them. */
const OF_ONE_WORK = new Set(['error', 'full', 'unwritable']);

type Work<T> = (nowMs: number) => Steps<T>;

interface Waiting {
  readonly name: Background;
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (cause: unknown) => void;
}

/** Combines the background writes of an event-loop turn into one commit. A failing write does not affect the others. */
export class TogetherWriter {
  readonly #commit: <T>(work: Work<T>) => T | Promise<T>;
  #waiting: Waiting[] = [];

  /** @param commit - runs work in one transaction */
  constructor(commit: <T>(work: Work<T>) => T | Promise<T>) {
    this.#commit = commit;
  }

  write<T>(name: Background, work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => void run(this.#writeWaiting()));
      this.#waiting.push({ name, work, resolve: resolve as Waiting['resolve'], reject });
    });
  }

  /** Never throws. */
  *#writeWaiting(): Waits<void> {
    let waiting = this.#waiting.toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
    this.#waiting = [];
    while (waiting.length > 0) {
      waiting = waiting.slice(yield* this.#writeSome(waiting));
      if (waiting.length > 0) yield* waitFor(nextTurn());
    }
  }

  /** Returns the number of works that were written or have failed. */
  *#writeSome(waiting: readonly Waiting[]): Waits<number> {
    try {
      const results = yield* waitFor(this.#commit((nowMs) => inOrder(waiting, nowMs)));
      for (const [i, result] of results.entries()) waiting[i]?.resolve(result);
      return results.length;
    } catch (cause) {
      const mayHelp = !(cause instanceof StoreUnavailable) || (OF_ONE_WORK.has(cause.reason) && !cause.mayBeDone);
      if (waiting.length === 1 || !mayHelp) for (const { reject } of waiting) reject(cause);
      else for (const one of waiting) yield* this.#writeSome([one]);
      return waiting.length;
    }
  }
}

/** Runs works sequentially until the row limit is reached; returns the results. */
function* inOrder(waiting: readonly Waiting[], nowMs: number): Steps<unknown[]> {
  const results: unknown[] = [];
  let rows = 0;
  for (const { work } of waiting) {
    if (rows > MOST_ROWS) break;
    const steps = work(nowMs);
    let next = steps.next();
    while (next.done !== true) {
      rows += rowsOf(next.value);
      next = steps.next(yield next.value);
    }
    results.push(next.value);
  }
  return results;
}

function rowsOf(step: Step): number {
  if (step.kind === 'save') return step.batch.decisions.length;
  return 'rows' in step ? step.rows.length : 1;
}
