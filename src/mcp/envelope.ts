import { isUtf8 } from 'node:buffer';
import { exceededBound, type JsonBounds } from '../wires/json/bounds.ts';
import { endOfString, parsed } from '../wires/json/value.ts';
import { invalidParams, isObject, type JsonObject, RpcError, type RpcId, rpcCodes } from './json-rpc.ts';

/** Matches integers of 16 or more digits, which a `number` may not represent exactly. */
const LONG_INTEGER = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * Restores ids that lost digits while their text was parsed: in `id` and in `params.requestId` of a message, or of each
 * message of a batch, an integer beyond 2^53 becomes a `bigint`. All other values stay as parsed.
 *
 * @param value - the value of the text
 */
function withExactIds(text: string, value: unknown): unknown {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!messages.some((message) => idsOf(message).some(isInexact))) return value;
  const quoted = parsed(withQuotedIntegers(text));
  const exact: readonly unknown[] = Array.isArray(quoted) ? quoted : [quoted];
  const restored = messages.map((message, i) => restore(message, exact[i]));
  return Array.isArray(value) ? restored : restored[0];
}

function idsOf(message: unknown): unknown[] {
  if (!isObject(message)) return [];
  return [message.id, isObject(message.params) ? message.params.requestId : undefined];
}

function isInexact(id: unknown): boolean {
  return Number.isInteger(id) && !Number.isSafeInteger(id);
}

function withQuotedIntegers(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const start = quote < 0 ? text.length : quote;
    parts.push(text.slice(at, start).replace(LONG_INTEGER, '"$&"'));
    at = quote < 0 ? start : endOfString(text, quote);
    parts.push(text.slice(start, at));
  }
  return parts.join('');
}

function restore(message: unknown, quoted: unknown): unknown {
  if (!isObject(message)) return message;
  const digits = idsOf(quoted);
  const [id, requestId] = idsOf(message).map((parsedId, i) => {
    const text = digits[i];
    return isInexact(parsedId) && typeof text === 'string' ? BigInt(text) : undefined;
  });
  const params = requestId === undefined ? message.params : { ...(message.params as object), requestId };
  return { ...message, ...(id === undefined ? {} : { id }), ...(params === undefined ? {} : { params }) };
}

/** One JSON-RPC message, classified by its shape. `response` is a client's answer; this server never sends requests. */
export type Message =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'response' }
  | { readonly kind: 'invalid'; readonly id: RpcId; readonly error: RpcError };

export interface Payload {
  readonly batch: boolean;
  readonly messages: readonly Message[];
}

/** Maximum batch length; otherwise a few megabytes of `[1,1,1,…]` would produce gigabytes of answers. */
const MAX_BATCH = 1000;
/**
 * Limits for one message or batch. The largest graph and a hundred `recover_text` calls of a thousand ranges fit, while
 * the parsed value stays below about 60 MB.
 */
const BOUNDS: JsonBounds = { values: 500_000, levels: 1_000, items: MAX_BATCH };
/**
 * Maximum nesting of parameters. Tools need at most about 70, and code that walks them may recurse several frames per
 * level.
 */
const MAX_DEPTH = 500;

/**
 * Checks the bytes of one message or of a batch before they are parsed.
 *
 * @returns the text without a byte order mark, or an error response
 */
export async function messageText(bytes: Buffer): Promise<string | RpcError> {
  if (!isUtf8(bytes)) return unreadable();
  const exceeded = await exceededBound(bytes, BOUNDS);
  if (exceeded !== null) return tooComplex(exceeded);
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function tooComplex(exceeded: keyof JsonBounds): RpcError {
  const limit = BOUNDS[exceeded];
  const words = {
    values: `a message holds at most ${limit} values`,
    levels: `a message has at most ${limit} levels`,
    items: `a batch holds at most ${limit} messages`,
  };
  return invalidRequest(words[exceeded]);
}

/** Parses the JSON text of one message or batch. Never throws: malformed parts become `invalid` messages. */
export function readPayload(text: string): Payload {
  const value = withExactIds(text, parsed(text));
  if (value === undefined) return single(invalid(null, unreadable()));
  if (!Array.isArray(value)) return single(readMessage(value));
  if (value.length === 0) return single(invalid(null, invalidRequest('the batch is empty')));
  return { batch: true, messages: value.map(readMessage) };
}

/** The -32700 error, also used for invalid UTF-8. */
function unreadable(): RpcError {
  return new RpcError(rpcCodes.parseError, 'Parse error: the message is not JSON in UTF-8');
}

export function invalidRequest(why: string, data?: JsonObject): RpcError {
  return new RpcError(rpcCodes.invalidRequest, `Invalid Request: ${why}`, data);
}

/** Named parameters. Absent or `null` means none. */
export function readParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (isObject(params)) return params;
  throw invalidParams({ field: 'params', message: 'expected an object' });
}

function readMessage(value: unknown): Message {
  if (!isObject(value)) return invalid(null, invalidRequest('a message is an object'));
  const id = isId(value.id) ? value.id : null;
  if (value.jsonrpc !== '2.0') return invalid(id, invalidRequest('jsonrpc must be "2.0"'));
  const { method, params } = value;
  if (typeof method === 'string') {
    if (value.id === undefined) return { kind: 'notification', method, params };
    if (!isId(value.id)) return invalid(null, invalidRequest('id must be a string or a number'));
    if (isDeeper(params, MAX_DEPTH))
      return invalid(id, invalidParams({ field: 'params', message: 'nested too deeply' }));
    return { kind: 'request', id, method, params };
  }
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'response' };
  return invalid(id, invalidRequest('method must be a string'));
}

/**
 * Whether a value nests deeper than `most`. Iterative, because deep recursion is the very risk that this check
 * prevents.
 */
function isDeeper(value: unknown, most: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isId(value: unknown): value is RpcId {
  return value === null || ['string', 'number', 'bigint'].includes(typeof value);
}

function invalid(id: RpcId, error: RpcError): Message {
  return { kind: 'invalid', id, error };
}

function single(message: Message): Payload {
  return { batch: false, messages: [message] };
}
