/**
 * Reports a failure after which the product continues. Causes may only be dropped after this call, since
 * `app/context.ts` logs all of them. Never throws.
 *
 * @param reason - a short constant code (`store_busy`, `not_reported`)
 * @param about - context of the failure: ids and numbers, never a text
 */
export type FailureReporter = (
  reason: string,
  cause: unknown,
  about?: Readonly<Record<string, string | number>>,
) => void;
