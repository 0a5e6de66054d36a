import { field, parsed } from '../../json/value.ts';
import type { Dialect } from '../dialect.ts';
import { openaiChat } from '../openai-chat/dialect.ts';
import { scanResponsesBody } from './scan.ts';

/**
 * `POST …/v1/responses` as OpenAI defined it, spoken by Codex and the newer SDKs. Newer models drop the reasoning that
 * follows a changed item, without an error.
 */
export const openaiResponses: Dialect = {
  name: 'responses',
  verifiesHistory: 'with-reasoning',
  keepsHistory: 'items',
  claims(method, path) {
    if (method !== 'POST' || !(path.startsWith('/v1/') || path.startsWith('/responses'))) return null;
    if (path.endsWith('/responses/compact')) return 'compact';
    return path.endsWith('/responses') ? 'generate' : null;
  },
  scan: scanResponsesBody,
  walk: {
    list: 'input',
    model: 'assistant',
    roles: new Set(['assistant', 'system', 'developer']),
    types: new Set(['reasoning', 'function_call', 'custom_tool_call', 'local_shell_call', 'shell_call']),
    aside: new Set(),
  },
  refusesToContinue: (answer) =>
    field(field(parsed(answer.toString('utf8')), 'error'), 'code') === 'previous_response_not_found',
  error: openaiChat.error,
};
