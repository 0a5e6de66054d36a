import type { ScannedBody } from '../../wires/dialects/dialect.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { field, parsed } from '../../wires/json/value.ts';

/** Session ids in a request's headers, by the client that sets them; `''` if absent. */
export interface SessionHeaders {
  readonly claudeCode: string;
  readonly codex: string;
  readonly others: string;
}

/** A body with the positions of its messages, tools and instructions. */
type SearchedBody = Pick<ScannedBody, 'messages' | 'outside'> & { readonly body: Buffer };

const USER_ID = /"user_id"\s{0,9}:\s{0,9}("(?:[^"\\]|\\.){1,2000}")/;
/** The end of Claude Code's `user_id` in older versions, before it became JSON. */
const IN_USER_ID = /_session_([\w.-]{1,200})$/;
const CACHE_KEY = /"prompt_cache_key"\s{0,9}:\s{0,9}"([^"\\]{1,200})"/;

/**
 * The client's session id, from headers or body; `''` if there is none. Precedence: Claude Code's header, its
 * `metadata.user_id`, Codex's headers, `prompt_cache_key`, all other headers.
 */
export function sessionOf(headers: SessionHeaders | undefined, body: SearchedBody): string {
  if (headers?.claudeCode) return headers.claudeCode;
  const fields = fieldsOf(body);
  return inUserId(fields) || headers?.codex || CACHE_KEY.exec(fields)?.[1] || headers?.others || '';
}

/** All fields other than messages, tools and instructions; short even in large requests. */
function fieldsOf({ body, messages, outside }: SearchedBody): string {
  const [first, last] = [messages[0]?.span, messages.at(-1)?.span];
  const large: Span[] = [...outside, ...(first && last ? [{ start: first.start, end: last.end }] : [])];
  let from = 0;
  let fields = '';
  for (const { start, end } of large.sort((a, b) => a.start - b.start)) {
    fields += body.toString('latin1', from, Math.max(from, start));
    from = Math.max(from, end);
  }
  return fields + body.toString('latin1', from);
}

/** The session in Claude Code's `metadata.user_id`: `user_…_session_<id>`, or JSON with a `session_id`. */
function inUserId(fields: string): string {
  const literal = USER_ID.exec(fields)?.[1];
  const userId = literal === undefined ? undefined : parsed(literal);
  if (typeof userId !== 'string') return '';
  if (!userId.startsWith('{')) return IN_USER_ID.exec(userId)?.[1] ?? '';
  const session = field(parsed(userId), 'session_id');
  return typeof session === 'string' ? session : '';
}
