import { PrunerError } from '../errors/errors.ts';
import { RpcError, rpcCodes } from './json-rpc.ts';

/**
 * Converts a thrown value to a JSON-RPC error. A `PrunerError` keeps its code, its details and its hint. Errors of
 * tools of extensions repeat the hint in `message`, because most MCP clients show only the message. A bug reveals
 * neither its message nor its stack.
 */
export function toWireError(cause: unknown): RpcError {
  if (cause instanceof RpcError) return cause;
  if (cause instanceof PrunerError) {
    return new RpcError(cause.rpcCode, cause.rpcMessage, cause.data);
  }
  return new RpcError(rpcCodes.internalError, 'Internal error', { code: 'internal_error' });
}
