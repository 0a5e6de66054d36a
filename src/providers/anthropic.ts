import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import { facts } from './facts.ts';
import { isBelow, operationOf, type Provider } from './provider.ts';

/** Anthropic, known by the path of its messages or by the field that its clients send with everything else. */
export const anthropic: Provider = {
  ...facts.anthropic,
  dialects: [anthropicMessages],
  takes(path, { method, headers }) {
    const operation = operationOf(anthropicMessages, method, path);
    if (operation !== null) return operation;
    // an SDK of Anthropic's may be pointed at the formats of OpenAI
    if (OPENAI.some((dialect) => dialect.claims(method, path) !== null)) return null;
    const named = headers['anthropic-version'] !== undefined && isBelow(path, '/v1');
    return named || isBelow(path, '/v1/messages') ? 'forward' : null;
  },
};

const OPENAI = [openaiChat, openaiResponses];
