import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import { facts } from './facts.ts';
import { isBelow, operationOf, type Provider } from './provider.ts';

/** OpenAI and all that speak its formats. Whatever else lies below `/v1` is forwarded here too. */
export const openai: Provider = {
  ...facts.openai,
  dialects: [openaiChat, openaiResponses],
  takes(path, { method }) {
    const operation = operationOf(openaiChat, method, path) ?? operationOf(openaiResponses, method, path);
    return operation ?? (isBelow(path, '/v1') ? 'forward' : null);
  },
};
