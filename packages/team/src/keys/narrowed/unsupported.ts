import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';

/** Implementation of methods that viewers must not use. */
export function unsupported(): Promise<never> {
  return Promise.reject(new StoreUnavailable('unsupported'));
}
