import { estimateTokens } from '../../engine/text/tokens.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import { isTooLong } from './found-text.ts';
import type { TextOutcome } from './prefix-memo.ts';

/** Token overhead of a message for its role and delimiters. */
const FRAME_TOKENS = 4;
/** Bytes per token of tool schemas, other request fields, and texts that are too long to decode. */
const BYTES_PER_TOKEN = 4;

/** Estimated tokens of a message as received: texts and calls. */
export function messageTokens(bytes: Buffer, { texts, calls }: ScannedMessage): number {
  let tokens = FRAME_TOKENS;
  for (const { literal } of texts) {
    tokens += isTooLong(literal)
      ? Math.ceil((literal.end - literal.start) / BYTES_PER_TOKEN)
      : estimateTokens(decodeString(bytes, literal.start, literal.end) ?? '');
  }
  for (const { name, args } of calls) {
    tokens += estimateTokens(name) + (args ? estimateTokens(bytes.toString('latin1', args.start, args.end)) : 0);
  }
  return tokens;
}

/**
 * Estimated tokens of a request as forwarded.
 *
 * @param messageSum - `messageTokens` of all its messages
 */
export function requestTokens(
  body: Buffer,
  messages: readonly ScannedMessage[],
  messageSum: number,
  outcomes: readonly TextOutcome[],
): number {
  const start = messages[0]?.span.start ?? 0;
  const end = messages.at(-1)?.span.end ?? 0;
  const saved = outcomes.reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0);
  return messageSum - saved + Math.ceil((body.length - (end - start)) / BYTES_PER_TOKEN);
}
