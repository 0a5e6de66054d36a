import { field, finiteNumber } from '../../json/value.ts';
import type { Dialect, ProviderUsage } from '../dialect.ts';
import { meaningOf } from '../scan-body.ts';
import { TailUsage } from '../tail-usage.ts';
import { scanChatBody } from './scan.ts';

/** `POST …/chat/completions` as OpenAI defined it and most providers offer it. Providers do not verify the history. */
export const openaiChat: Dialect = {
  name: 'chat',
  verifiesHistory: false,
  keepsHistory: false,
  claims(method, path) {
    const known = path.endsWith('/chat/completions') && (path.startsWith('/v1/') || path === '/chat/completions');
    return method === 'POST' && known ? 'generate' : null;
  },
  scan: scanChatBody,
  meaning: meaningOf,
  answer: () => new TailUsage(USAGE, usageOf),
  refusesHistory: () => false,
  error: (_status, code, message) =>
    Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } })),
};

/** The key of a chat completion's usage. */
const USAGE = Buffer.from('"usage"');

function usageOf(value: unknown): ProviderUsage | null {
  if (value === null || typeof value !== 'object') return null;
  const details = field(value, 'prompt_tokens_details');
  const written = finiteNumber(field(details, 'cache_write_tokens'));
  const reasoning = finiteNumber(field(field(value, 'completion_tokens_details'), 'reasoning_tokens'));
  return {
    promptTokens: finiteNumber(field(value, 'prompt_tokens')),
    completionTokens: finiteNumber(field(value, 'completion_tokens')),
    cacheWriteTokens: written ?? undefined,
    reasoningTokens: reasoning ?? undefined,
    cachedTokens:
      finiteNumber(field(details, 'cached_tokens')) ?? finiteNumber(field(value, 'prompt_cache_hit_tokens')),
  };
}
