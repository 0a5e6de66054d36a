import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import { facts } from './facts.ts';
import { belowVersion, isBelow, operationOf, type Provider } from './provider.ts';

/** Anthropic, known by the path of its messages or by the field that its clients send with everything else. */
export const anthropic: Provider = {
  ...facts.anthropic,
  dialects: [anthropicMessages],
  takes(path, line) {
    if (!isBelow(path, '/v1')) return null;
    const operation = operationOf(anthropicMessages, line.method, path);
    if (operation === null) {
      // an SDK of Anthropic's may be pointed at the formats of OpenAI
      if (OPENAI.some((dialect) => dialect.claims(line.method, path) !== null)) return null;
      if (line.headers['anthropic-version'] === undefined && !isBelow(path, '/v1/messages')) return null;
    }
    return belowVersion(operation, line);
  },
};

const OPENAI = [openaiChat, openaiResponses];
