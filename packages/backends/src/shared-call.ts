import type { ScoreRequest } from 'mcp-pruner/core/ports.ts';
import { CallFailure } from './post-json.ts';
import type { LineOpinions } from './remote-backend.ts';

type Abandoned = 'timeout' | 'cancelled';

/** One call shared by several callers, each with its own time limit. It is aborted when the last caller has left. */
export class SharedCall {
  readonly #controller = new AbortController();
  readonly #answer: Promise<LineOpinions>;
  #waiting = 0;
  /** Why the call was aborted, or `null`. */
  abandoned: Abandoned | null = null;
  /** The longest wait among the callers, in milliseconds. */
  patienceMs = 0;

  /** @param start - makes the call; must abort it on the signal */
  constructor(start: (signal: AbortSignal) => Promise<LineOpinions>) {
    this.#answer = start(this.#controller.signal);
    this.#answer.catch(() => {}); // remaining callers handle the error
  }

  /** @throws CallFailure the call's own failure, or `timeout` or `cancelled` if this caller's wait ended first */
  wait({ timeoutMs, signal }: Pick<ScoreRequest, 'timeoutMs' | 'signal'>): Promise<LineOpinions> {
    this.#waiting++;
    this.patienceMs = Math.max(this.patienceMs, timeoutMs);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const leave = (why: Abandoned): void => {
        settle();
        if (--this.#waiting === 0) {
          this.abandoned = why;
          this.#controller.abort();
        }
        reject(new CallFailure(why));
      };
      const onAbort = (): void => leave('cancelled');
      const timer = setTimeout(() => leave('timeout'), timeoutMs);
      if (signal?.aborted) return leave('cancelled');
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#answer.then(resolve, reject).finally(settle);
    });
  }
}
