import { count, field } from '../../json/value.ts';
import type { ProviderUsage } from '../dialect.ts';

/** The key of a chat completion's usage. */
export const USAGE = Buffer.from('"usage"');

export function usageOf(value: unknown): ProviderUsage | null {
  if (value === null || typeof value !== 'object') return null;
  const details = field(value, 'prompt_tokens_details');
  const written = count(field(details, 'cache_write_tokens'));
  const reasoning = count(field(field(value, 'completion_tokens_details'), 'reasoning_tokens'));
  return {
    promptTokens: count(field(value, 'prompt_tokens')),
    completionTokens: count(field(value, 'completion_tokens')),
    cacheWriteTokens: written ?? undefined,
    reasoningTokens: reasoning ?? undefined,
    cachedTokens: count(field(details, 'cached_tokens')) ?? count(field(value, 'prompt_cache_hit_tokens')),
  };
}
