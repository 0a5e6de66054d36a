import type { IncomingHttpHeaders } from 'node:http';
import type { Message } from './envelope.ts';
import { PROTOCOL_VERSIONS } from './initialize.ts';
import { isObject } from './json-rpc.ts';

/**
 * The first version of MCP without `initialize`: each request names its version and the client's abilities itself. This
 * and later versions are served by the official SDK (`new-era.ts`).
 */
export const NEW_ERA = '2026-07-28';
/** The member of `_meta` that names a request's version. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** A message of the new era, which may be wrong in any other respect. */
export type NewEraMessage = Extract<Message, { kind: 'request' | 'notification' }>;

/** Whether a message names its version, as only those of the new era do. */
export function namesVersion(message: Message): message is NewEraMessage {
  if (message.kind !== 'request' && message.kind !== 'notification') return false;
  const meta = isObject(message.params) ? message.params._meta : undefined;
  return isObject(meta) && VERSION_KEY in meta;
}

/** What the header `MCP-Protocol-Version` says: a version of either era, an unsupported one, or nothing. */
export function eraOf(headers: IncomingHttpHeaders): 'new' | 'old' | 'unsupported' | 'unnamed' {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || version === '') return 'unnamed';
  const name = String(version);
  if (PROTOCOL_VERSIONS.includes(name)) return 'old';
  return VERSION.test(name) && name >= NEW_ERA ? 'new' : 'unsupported';
}

/** Whether an answer of the SDK is JSON, and no stream of events. */
export function isJson({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/json') ?? false;
}
