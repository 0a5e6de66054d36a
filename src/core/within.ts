/** The time limit of a request has passed. */
export const TIMED_OUT = new Error('deciding took too long');

/**
 * Result of `work`, or `null` after `ms` milliseconds. The work is not cancelled; its late result is dropped.
 *
 * @param onLate - called with the error of work that fails after that
 */
export function within<T>(work: Promise<T>, ms: number, onLate: (cause: unknown) => void): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let failed = reject;
    const timer = setTimeout(() => {
      failed = onLate;
      resolve(null);
    }, ms);
    void work.then(resolve, (cause: unknown) => failed(cause)).finally(() => clearTimeout(timer));
  });
}
