import type { Dialect, ScannedMessage } from '../../dialects/dialect.ts';
import type { Conversation } from '../../goal/conversation.ts';
import { keyOf } from '../hash.ts';

/**
 * For each message a hash of the meaning of it and of all messages before it. Instructions are left out: agents put the
 * date or the state of a repository there, and the records of the other messages must still be found.
 *
 * @param known - those of the first messages
 * @param start - a hash of the history before the first message, or `''`
 */
export function prefixesOf(
  dialect: Dialect,
  body: Buffer,
  messages: readonly ScannedMessage[],
  known: readonly string[] = [],
  start = '',
): readonly string[] {
  if (known.length === messages.length) return known;
  const prefixes = [...known];
  for (const message of messages.slice(known.length)) {
    const before = prefixes.at(-1) ?? start;
    prefixes.push(message.role === 'other' ? before : keyOf(before, dialect.meaning(body, message)));
  }
  return prefixes;
}

/**
 * A second key for a tool's result, by the call that it answers. If the provider keeps the history, a result is first
 * sent alone, and later with all messages before it. Clients spell the model's items differently than the provider, so
 * that a hash over them does not find the first record.
 *
 * @param conversation - as it stands at the message
 * @returns `''` for a message that answers no call, or several
 */
export function resultKeyOf(
  dialect: Dialect,
  body: Buffer,
  message: ScannedMessage,
  conversation: Conversation,
): string {
  const [first] = message.texts;
  if (!dialect.keepsHistory || message.role !== 'tool' || first === undefined || first.callId === '') return '';
  const nth = conversation.callsUnder(first.callId);
  return keyOf('result', conversation.id, first.callId, String(nth), dialect.meaning(body, message));
}
