import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import type { Dialect, Purpose } from '../dialects/dialect.ts';
import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import { facts } from './facts.ts';
import { decodedName, isBelow, type Operation, type Provider } from './provider.ts';

const DEPLOYMENT = /^\/openai\/deployments\/([^/]+)\/chat\/completions$/;

/**
 * Azure OpenAI and Claude on Microsoft Foundry. There is no common address: every resource has its own host. Sources:
 * https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference,
 * https://learn.microsoft.com/en-us/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude
 */
export const azure: Provider = {
  ...facts.azure,
  dialects: [openaiChat, openaiResponses, anthropicMessages],
  takes(path, { method, url }) {
    if (!isBelow(path, '/openai') && !isBelow(path, '/anthropic')) return null;
    return { operation: method === 'POST' ? operationAt(path) : null, rest: url };
  },
};

function operationAt(path: string): Operation | null {
  const [, deployment] = DEPLOYMENT.exec(path) ?? [];
  if (deployment !== undefined) return { dialect: openaiChat, purpose: 'generate', model: decodedName(deployment) };
  const [dialect, purpose] = OPERATIONS.get(path) ?? [];
  return dialect && purpose ? { dialect, purpose } : null;
}

const OPERATIONS = new Map<string, readonly [Dialect, Purpose]>([
  ['/openai/v1/chat/completions', [openaiChat, 'generate']],
  ['/openai/v1/responses', [openaiResponses, 'generate']],
  ['/openai/v1/responses/compact', [openaiResponses, 'compact']],
  ['/openai/responses', [openaiResponses, 'generate']],
  ['/openai/responses/compact', [openaiResponses, 'compact']],
  ['/anthropic/v1/messages', [anthropicMessages, 'generate']],
  ['/anthropic/v1/messages/count_tokens', [anthropicMessages, 'count']],
]);
