import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreUnavailable } from '../../errors/errors.ts';
import type { Step, Steps } from './steps.ts';

/**
 * What is written in the background, in the order in which one transaction writes it. The order is the same in all
 * processes, because a database locks rows until the commit; what other processes wait for most comes last.
 */
const ORDER = ['segments', 'recall', 'compactions', 'shelf', 'lines', 'limits', 'ledger', 'events'] as const;
export type Background = (typeof ORDER)[number];

/** Rows and steps after which a transaction takes no further work: some milliseconds of the event loop. */
const MOST_ROWS = 300;
/** If one of several works may be at fault, each is tried alone. Other failures concern all of them. */
const OF_ONE_WORK = new Set(['error', 'full']);

type Work<T> = (nowMs: number) => Steps<T>;

interface Waiting {
  readonly name: Background;
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * Commits together what is written in the background in the same turn of the event loop. A failure of one work does not
 * affect the others.
 */
export class TogetherWriter {
  readonly #commit: <T>(work: Work<T>) => Promise<T>;
  #waiting: Waiting[] = [];

  /** @param commit - runs work in one transaction */
  constructor(commit: <T>(work: Work<T>) => Promise<T>) {
    this.#commit = commit;
  }

  write<T>(name: Background, work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.#writeWaiting());
      this.#waiting.push({ name, work, resolve: resolve as Waiting['resolve'], reject });
    });
  }

  async #writeWaiting(): Promise<void> {
    let waiting = this.#waiting.toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
    this.#waiting = [];
    while (waiting.length > 0) {
      waiting = waiting.slice(await this.#writeSome(waiting));
      if (waiting.length > 0) await nextTurn();
    }
  }

  /** Returns how many were written or have failed. */
  async #writeSome(waiting: readonly Waiting[]): Promise<number> {
    try {
      const results = await this.#commit((nowMs) => inOrder(waiting, nowMs));
      for (const [i, result] of results.entries()) waiting[i]?.resolve(result);
      return results.length;
    } catch (cause) {
      const mayHelp = !(cause instanceof StoreUnavailable) || (OF_ONE_WORK.has(cause.reason) && !cause.mayBeDone);
      if (waiting.length === 1 || !mayHelp) for (const { reject } of waiting) reject(cause);
      else for (const one of waiting) await this.#writeSome([one]);
      return waiting.length;
    }
  }
}

/** Does one work after the other until there are too many rows; returns the results. */
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
  return step.kind === 'each' ? step.rows.length : step.kind === 'save' ? step.batch.decisions.length : 1;
}
