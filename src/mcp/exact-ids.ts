import { endOfString, parsed } from '../wires/json/value.ts';
import { isObject } from './json-rpc.ts';

/** An integer of 16 or more digits, which a `number` may not hold exactly. */
const LONG_INTEGER = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * Restores ids that lost digits while their text was parsed: in `id` and in `params.requestId` of a message, or of each
 * message of a batch, an integer beyond 2^53 becomes a `bigint`. All other values stay as parsed.
 *
 * @param value - the value of the text
 */
export function withExactIds(text: string, value: unknown): unknown {
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

/** The JSON text with each long integer as a string. */
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
