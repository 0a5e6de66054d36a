/**
 * Told of a failure that the product goes on without. The one way in which a cause may be let go of: `app/failures.ts`
 * tells all of them in one place. Never throws.
 *
 * @param reason - a short constant code (`store_busy`, `not_reported`)
 * @param about - whose failure it is: ids and numbers, never a text
 */
export type TellFailure = (reason: string, cause: unknown, about?: Readonly<Record<string, string | number>>) => void;
