import { PrunerError } from '../errors.ts';
import { RpcError, rpcCodes } from './json-rpc.ts';

/**
 * Translates whatever a method or tool threw. A failure of the domain keeps its code and details (001 §8: `code`,
 * `prune_id`, and a `hint` at what to do instead of repeating the call); a bug shows neither message nor stack.
 */
export function toWireError(cause: unknown): RpcError {
  if (cause instanceof RpcError) return cause;
  if (cause instanceof PrunerError) {
    const { code, rpcCode, details } = cause;
    return new RpcError(rpcCode, code, { code, ...details });
  }
  return new RpcError(rpcCodes.internalError, 'Internal error', { code: 'internal_error' });
}
