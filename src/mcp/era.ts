import type { IncomingHttpHeaders } from 'node:http';
import type { Message } from './envelope.ts';
import { PROTOCOL_VERSIONS } from './initialize.ts';
import { isObject } from './json-rpc.ts';

/**
 * The first MCP version without `initialize`: each request carries its version and the client's capabilities. This and
 * later versions are served by the official SDK (`new-era.ts`).
 */
export const NEW_ERA = '2026-07-28';
/** The `_meta` member with a request's version. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** A message of the new era; otherwise unvalidated. */
export type NewEraMessage = Extract<Message, { kind: 'request' | 'notification' }>;

/** Whether a message carries its version, as only messages of the new era do. */
export function namesVersion(message: Message): message is NewEraMessage {
  if (message.kind !== 'request' && message.kind !== 'notification') return false;
  const meta = isObject(message.params) ? message.params._meta : undefined;
  return isObject(meta) && VERSION_KEY in meta;
}

/** The era of the header `MCP-Protocol-Version`: a version of either era, an unsupported one, or none. */
export function eraOf(headers: IncomingHttpHeaders): 'new' | 'old' | 'unsupported' | 'unnamed' {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || version === '') return 'unnamed';
  const name = String(version);
  if (PROTOCOL_VERSIONS.includes(name)) return 'old';
  return VERSION.test(name) && name >= NEW_ERA ? 'new' : 'unsupported';
}

/** Whether an SDK response is JSON instead of an event stream. */
export function isJson({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/json') ?? false;
}
