/**
 * Reports a failure after which the product continues. Dropping a cause is allowed only after this call:
 * `app/context.ts` logs all of them in one place. Never throws.
 *
 * @param reason - a short constant code (`store_busy`, `not_reported`)
 * @param about - what the failure concerns: ids and numbers, never a text
 */
export type FailureReporter = (
  reason: string,
  cause: unknown,
  about?: Readonly<Record<string, string | number>>,
) => void;
