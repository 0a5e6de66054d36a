import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import { callsOf, identityOf, type RecordedMessage, textOf } from './messages.ts';

/** Price of a cached input token, as a share of the full price. */
export const CACHED_PRICE = 0.1;

/** Token overhead of a message for its role and delimiters. */
const TOKENS_PER_MESSAGE = 4;

/** Estimated input tokens of one message. */
export function messageTokens(message: RecordedMessage): number {
  let tokens = TOKENS_PER_MESSAGE + estimateTokens(textOf(message));
  for (const { name, args } of callsOf(message)) tokens += estimateTokens(name) + estimateTokens(args);
  return tokens;
}

/** Input of one request: the part before the messages (tools), and the messages. */
export interface Prompt {
  readonly headTokens: number;
  readonly messages: readonly RecordedMessage[];
}

/** Tokens of a prompt, and its cost in full-price tokens. */
export interface Bill {
  readonly tokens: number;
  readonly cachedTokens: number;
  readonly billed: number;
}

/** Tokens of the common prefix of two texts. */
function sharedTokens(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return estimateTokens(a, 0, at);
}

/**
 * The cost of a request after a previous one, whose common prefix is read from the cache. `previous` is `null` for the
 * first request of a conversation.
 */
export function billOf(prompt: Prompt, previous: Prompt | null): Bill {
  let tokens = prompt.headTokens;
  let shared = previous?.headTokens === prompt.headTokens;
  let cachedTokens = shared ? prompt.headTokens : 0;
  prompt.messages.forEach((message, i) => {
    const own = messageTokens(message);
    tokens += own;
    const before = previous?.messages[i];
    if (!shared || before === undefined) return;
    shared = identityOf(message) === identityOf(before);
    cachedTokens += shared ? own : sharedTokens(textOf(message), textOf(before));
  });
  return { tokens, cachedTokens, billed: tokens - (1 - CACHED_PRICE) * cachedTokens };
}
