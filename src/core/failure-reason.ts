import { StoreUnavailable } from '../errors/errors.ts';

/** A short constant code for a failure. */
export function reasonOf(cause: unknown): string {
  return cause instanceof StoreUnavailable ? `store_${cause.reason}` : 'internal_error';
}
