import type { IncomingHttpHeaders } from 'node:http';
import { keyOf } from '../core/hash.ts';
import type { RequestScope } from '../core/ports/segments.ts';

const DEFAULT_PROJECT = 'default';
const MAX_NAME_CHARS = 200;

/** Whose request it is: `x-mcp-pruner-project` and `x-mcp-pruner-task`, neither of which is forwarded. */
export function scopeOf(headers: IncomingHttpHeaders, requestId: string): RequestScope {
  const project = nameIn(headers['x-mcp-pruner-project']) || DEFAULT_PROJECT;
  return { project, task: nameIn(headers['x-mcp-pruner-task']), requestId };
}

const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** Stands for the key that a request came with; a hash, never a part of the key. */
export function callerOf(headers: IncomingHttpHeaders): string {
  return keyOf('caller', ...KEY_HEADERS.map((name) => String(headers[name] ?? '')));
}

/** Node reads header bytes as latin-1; names beyond ASCII come as UTF-8. */
function nameIn(value: string | string[] | undefined): string {
  if (value === undefined) return '';
  const raw = (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
  const text = Buffer.from(raw, 'latin1').toString('utf8');
  return (text.includes('\ufffd') ? raw : text).slice(0, MAX_NAME_CHARS);
}
