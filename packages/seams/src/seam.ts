import { compactingClient } from 'mcp-pruner/core/compactions/signs.ts';
import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import { hasUserWords } from 'mcp-pruner/core/request/user-signs.ts';
import type { ScannedMessage } from 'mcp-pruner/wires/dialects/dialect.ts';
import { decodeString } from 'mcp-pruner/wires/json/cursor.ts';

/**
 * Number of messages before the seam, if a request is one: behind the model's last message, which leaves no call open, stand
 * only messages of the user with words of their own, without results. `null` for all other requests.
 */
export function seamAt({ messages, received }: Pick<RewrittenRequest, 'messages' | 'received'>): number | null {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const answer = messages[last];
  if (answer === undefined || answer.calls.length > 0) return null;
  const behind = messages.slice(last + 1);
  const isOnlyUser = behind.every(({ role, texts }) => role === 'user' && texts.every(({ use }) => use !== 'result'));
  if (behind.length === 0 || !isOnlyUser) return null;
  if (!behind.some((message) => hasUserWords(message))) return null;
  return asksForSummary(received, behind) ? null : last + 1;
}

/** Whether the client itself asks for a summary of its history. */
function asksForSummary(body: Buffer, messages: readonly ScannedMessage[]): boolean {
  const words = messages.at(-1)?.texts.findLast(({ use }) => use === 'words');
  if (words === undefined) return false;
  return compactingClient(decodeString(body, words.literal.start, words.literal.end) ?? '') !== null;
}
