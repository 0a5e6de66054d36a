import { StoreUnavailable } from '../../../../errors/errors.ts';

/** The implementation of methods that viewers may not use. */
export function unsupported(): Promise<never> {
  return Promise.reject(new StoreUnavailable('unsupported'));
}
