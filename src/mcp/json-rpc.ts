import { errorTable, PrunerError } from '../errors/errors.ts';

/**
 * A request's id. `null` is unusual but legal in JSON-RPC 2.0; it is used in answers if no id could be read. A `bigint`
 * is an integer beyond the exact range of `number`.
 */
export type RpcId = string | number | bigint | null;

export type JsonObject = Readonly<Record<string, unknown>>;

export const rpcCodes = {
  parseError: errorTable.parse_error.rpc,
  invalidRequest: errorTable.invalid_request.rpc,
  methodNotFound: errorTable.method_not_found.rpc,
  invalidParams: errorTable.invalid_params.rpc,
  internalError: errorTable.internal_error.rpc,
} as const;

/** An error as sent to the client. Thrown by methods and tools; `message` is sent unchanged. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: JsonObject | undefined;

  constructor(code: number, message: string, data?: JsonObject) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** One problem with the parameters: the field as a dotted path, and the expected value. */
export interface ParamIssue {
  readonly field: string;
  readonly message: string;
}

/** The -32602 error. The message names the first field, because most agents show only the message to their model. */
export function invalidParams(...issues: readonly ParamIssue[]): RpcError {
  const [first] = issues;
  const detail = first === undefined ? '' : `: ${first.field}: ${first.message}`;
  return new RpcError(rpcCodes.invalidParams, `Invalid params${detail}`, { code: 'invalid_params', issues });
}

interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonObject;
}

export type Reply =
  | { readonly jsonrpc: '2.0'; readonly id: RpcId; readonly result: unknown }
  | { readonly jsonrpc: '2.0'; readonly id: RpcId; readonly error: RpcErrorBody };

export interface Notification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params: JsonObject;
}

export function success(id: RpcId, result: unknown): Reply {
  return { jsonrpc: '2.0', id, result };
}

export function failure(id: RpcId, { code, message, data }: RpcError): Reply {
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function clip(name: string): string {
  return name.length <= 80 ? name : `${name.slice(0, 80)}…`;
}

/**
 * Converts a thrown value to a JSON-RPC error. A `PrunerError` keeps its code, its details and its hint. Errors of
 * tools of extensions repeat the hint in `message`, because most MCP clients show only the message. For bugs, neither
 * message nor stack is revealed.
 */
export function toWireError(cause: unknown): RpcError {
  if (cause instanceof RpcError) return cause;
  if (cause instanceof PrunerError) {
    return new RpcError(cause.rpcCode, cause.rpcMessage, cause.data);
  }
  return new RpcError(rpcCodes.internalError, 'Internal error', { code: 'internal_error' });
}
