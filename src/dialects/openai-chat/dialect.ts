import type { Dialect } from '../dialect.ts';
import { meaningOf } from '../meaning.ts';
import { TailUsage } from '../tail-usage.ts';
import { scanChatBody } from './scan.ts';
import { USAGE, usageOf } from './usage.ts';

/** `POST …/chat/completions` as OpenAI defined it and most providers offer it. Nobody checks what was sent before. */
export const openaiChat: Dialect = {
  name: 'chat',
  binding: 'should',
  keepsHistory: false,
  claims(method, path) {
    const known = path.endsWith('/chat/completions') && (path.startsWith('/v1/') || path === '/chat/completions');
    return method === 'POST' && known ? 'generate' : null;
  },
  scan: scanChatBody,
  meaning: meaningOf,
  answer: () => new TailUsage(USAGE, usageOf),
  refusesPast: () => false,
  error: (_status, code, message) =>
    Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } })),
};
