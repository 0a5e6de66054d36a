import { StoreUnavailable } from '../../errors.ts';

/** What no part of a store can do for a viewer. */
export function unsupported(): Promise<never> {
  return Promise.reject(new StoreUnavailable('unsupported'));
}
