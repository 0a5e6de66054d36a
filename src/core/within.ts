/** The time for a request is over. */
export const TIMED_OUT = new Error('deciding took too long');

/**
 * What work gives, or `null` when it takes longer than `ms` milliseconds; it goes on then and nobody hears of its end.
 *
 * @param onLate - told when it fails after that
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
