import { PrunerError } from '../errors.ts';
import { RpcError, rpcCodes } from './json-rpc.ts';

/**
 * Translates whatever a method or tool threw. A failure of ours keeps its code, its details and its hint at what to do
 * instead of repeating the call; a bug shows neither message nor stack.
 */
export function toWireError(cause: unknown): RpcError {
  if (cause instanceof RpcError) return cause;
  if (cause instanceof PrunerError) {
    return new RpcError(cause.rpcCode, cause.code, cause.data);
  }
  return new RpcError(rpcCodes.internalError, 'Internal error', { code: 'internal_error' });
}
