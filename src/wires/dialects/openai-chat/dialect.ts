import type { AnswerFormat } from '../answers/format.ts';
import { FormatReader } from '../answers/reader.ts';
import type { Dialect } from '../dialect.ts';
import { meaningOf } from '../scan-body.ts';
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
  meaning: meaningOf,
  answer: () => new FormatReader(FORMAT),
  refusesHistory: () => false,
  refusesToContinue: () => false,
  error: (_status, code, message) =>
    Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } })),
};

/**
 * Besides OpenAI's own fields: Kimi's `cached_tokens` and usage inside of `choices`, DeepSeek's `prompt_cache_hit_tokens`,
 * and the cache figures of gateways that offer Claude on this wire.
 */
const FORMAT: AnswerFormat = {
  usage: ['usage', 'choices.0.usage', 'x_groq.usage'],
  inputIncludesCache: true,
  figures: {
    input: ['prompt_tokens', 'input_tokens'],
    output: ['completion_tokens', 'output_tokens'],
    read: [
      'prompt_tokens_details.cached_tokens',
      'input_tokens_details.cached_tokens',
      'cached_tokens',
      'prompt_cache_hit_tokens',
      'cache_read_input_tokens',
    ],
    written: [
      'prompt_tokens_details.cache_write_tokens',
      'prompt_tokens_details.cache_creation_tokens',
      'cache_creation_input_tokens',
    ],
    writtenLong: [
      'cache_creation.ephemeral_1h_input_tokens',
      'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens',
    ],
    reasoning: ['completion_tokens_details.reasoning_tokens'],
  },
  texts: ['content', 'reasoning_content', 'reasoning', 'arguments', 'text'],
};
