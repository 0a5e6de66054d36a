import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import { facts } from './facts.ts';
import { belowVersion, isBelow, operationOf, type Provider } from './provider.ts';

/** OpenAI and all that speak its formats. Whatever else lies below `/v1` is forwarded here too. */
export const openai: Provider = {
  ...facts.openai,
  dialects: [openaiChat, openaiResponses],
  takes(path, line) {
    // Ollama's own API is next to its /v1
    if (path === '/api/chat') return { operation: null, rest: line.url, toOrigin: true };
    const operation = operationOf(openaiChat, line.method, path) ?? operationOf(openaiResponses, line.method, path);
    return operation || isBelow(path, '/v1') ? belowVersion(operation, line) : null;
  },
};
