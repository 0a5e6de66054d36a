import { field, parsed } from '../../json/value.ts';
import type { Dialect } from '../dialect.ts';
import { scanMessagesBody } from './scan.ts';

/**
 * `POST …/v1/messages` as Anthropic defined it, spoken by Claude Code and offered by gateways and other providers.
 * Current models bind their reasoning to the exact preceding messages; if one of them is changed later, the request is
 * refused.
 */
export const anthropicMessages: Dialect = {
  name: 'messages',
  verifiesHistory: 'always',
  keepsHistory: 'threads',
  claims(method, path) {
    if (method !== 'POST') return null;
    if (path.endsWith('/v1/messages')) return 'generate';
    return path.endsWith('/v1/messages/count_tokens') ? 'count' : null;
  },
  scan: scanMessagesBody,
  walk: { list: 'messages', model: 'assistant', roles: new Set(['assistant', 'system']), aside: new Set() },
  refusesHistory(status, answer) {
    if (status !== 400) return false;
    // ignore the error types `invalid_request_error` and `INVALID_ARGUMENT`, which all request errors have
    const words = answer
      .toString('utf8', 0, REFUSAL_BYTES)
      .replace(/invalid_[a-z_]{1,40}/gi, '')
      .toLowerCase();
    return REFUSAL.every((word) => words.includes(word));
  },
  refusesToContinue(answer) {
    const details = field(field(parsed(answer.toString('utf8')), 'error'), 'details');
    return String(field(details, 'error_code') ?? '').startsWith('thread_');
  },
  error: (status, code, message) =>
    Buffer.from(JSON.stringify({ type: 'error', error: { type: errorType(status), message: `${message} (${code})` } })),
};

/**
 * Words, in any order, of refusals of a thinking block from a different conversation. Anthropic, Bedrock and gateways
 * phrase the error differently, so only these words are matched.
 */
const REFUSAL = ['invalid', 'signature', 'thinking'];
/** Only the beginning is searched, because such errors are short. */
const REFUSAL_BYTES = 4_096;

function errorType(status: number): string {
  return ERROR_TYPES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

const ERROR_TYPES = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [529, 'overloaded_error'],
]);
