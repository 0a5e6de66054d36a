import type { Dialect } from '../dialect.ts';
import { scanChatBody } from './scan.ts';

/** `POST …/chat/completions` as OpenAI defined it and most providers offer it. Providers do not verify the history. */
export const openaiChat: Dialect = {
  name: 'chat',
  verifiesHistory: 'never',
  keepsHistory: 'never',
  claims(method, path) {
    const known = path.endsWith('/chat/completions') && (path.startsWith('/v1/') || path === '/chat/completions');
    return method === 'POST' && known ? 'generate' : null;
  },
  scan: scanChatBody,
  walk: {
    list: 'messages',
    model: 'assistant',
    roles: new Set(['assistant', 'system', 'developer']),
    aside: new Set(['url']), // pictures
  },
  error: (_status, code, message) =>
    Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } })),
};
